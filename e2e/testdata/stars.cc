// Overloads, templates and an operator with stars in their names.
#define FN __attribute__((noinline))
#define KEEP asm volatile("" ::: "memory")
template <class T> struct Item {
	FN int get(int k) { KEEP; return k; }
};
template <class T> FN int put(T t) { KEEP; return (long)t != 0; }
struct Thing {
	int x;
	FN Thing *operator*(int) { KEEP; return this; }
};
FN int take(Item<int> *, int n) { KEEP; return n; }
FN int take(Item<int> *, Item<char> *) { KEEP; return 2; }
FN int take(Item<int> *, Item<char> **) { KEEP; return 3; }
int main()
{
	Item<int> a;
	Item<char> b, *pb = &b;
	int v, *pv = &v;
	Thing t{3};
	put(&v);
	put(&pv);
	put(5L);
	take(&a, a.get(1));
	take(&a, &b);
	take(&a, &pb);
	t * 4;
	return 0;
}
