// Containers with elements of all sizes and alignments.
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <list>
#include <forward_list>
#include <deque>
#include <string>
#define FN __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory")
struct CC { char a,b; bool operator<(const CC&o) const {return a<o.a;} };
struct SC { short a; char b; bool operator<(const SC&o) const {return a<o.a;} };
struct alignas(16) A16 { long a; bool operator<(const A16&o) const {return a<o.a;} };
struct PK { char c; int i; long l; } __attribute__((packed));
enum E : unsigned char { X, Y, Z };
FN int sets(std::set<char> &a, std::set<short> &b, std::set<int> &c, std::set<CC> &d, std::set<SC> &e, std::set<A16> &f){KEEP;return 1;}
FN int maps(std::map<char,long double> &a, std::map<char,char> &b, std::map<E,bool> &c, std::map<short,PK> &d, std::map<A16,char> &e, std::map<char,std::string> &f){KEEP;return 1;}
FN int chains(std::unordered_map<char,char> &a, std::unordered_set<short> &b, std::unordered_map<int,A16> &c, std::list<char> &d, std::list<A16> &e, std::forward_list<CC> &f, std::list<PK> &g){KEEP;return 1;}
FN int deques(std::deque<char> &a, std::deque<PK> &b, std::deque<A16> &c, std::deque<std::string> &d){KEEP;return 1;}
FN int inner(std::map<std::string,std::map<int,std::string>> &a, std::map<int,std::set<char>> &b, std::map<int,CC*> &c, std::map<int,std::deque<int>> &d){KEEP;return 1;}
int main(){
 std::set<char> a{1,2,3}; std::set<short> b{4,5}; std::set<int> c{6,7,8}; std::set<CC> d{{9,10},{11,12}}; std::set<SC> e{{13,14},{15,16}}; std::set<A16> f{{17},{18}}; sets(a,b,c,d,e,f);
 std::map<char,long double> ma{{1,1.5L}}; std::map<char,char> mb{{2,3}}; std::map<E,bool> mc{{Y,true}}; std::map<short,PK> md{{5,{6,7,8}}}; std::map<A16,char> me{{{9},10}}; std::map<char,std::string> mf{{11,"s"}}; maps(ma,mb,mc,md,me,mf);
 std::unordered_map<char,char> ua{{1,2}}; std::unordered_set<short> ub{3}; std::unordered_map<int,A16> uc{{4,{5}}}; std::list<char> la{6,7}; std::list<A16> lb{{8},{9}}; std::forward_list<CC> fl{{1,2},{3,4}}; std::list<PK> lp{{1,2,3}}; chains(ua,ub,uc,la,lb,fl,lp);
 std::deque<char> da; for(int i=0;i<5000;i++) da.push_back(i%100); for(int i=0;i<4990;i++) da.pop_front(); std::deque<PK> dp; for(int i=0;i<700;i++) dp.push_back({(char)i,i,i*2}); for(int i=0;i<312;i++) dp.pop_front(); std::deque<A16> dc{{1},{2}}; std::deque<std::string> dd{"x","y"}; dd.push_front("w"); deques(da,dp,dc,dd);
 std::map<std::string,std::map<int,std::string>> n{{"k",{{1,"one"},{2,"two"}}}}; CC cc{1,2}; std::map<int,std::set<char>> n2{{1,{2,3}}}; std::map<int,CC*> n3{{4,&cc}}; std::map<int,std::deque<int>> n4{{1,{2,3}}}; inner(n,n2,n3,n4);
}
