// Calls methods that the compiler makes, of iterators and closures, and such as interfaces declare.
using System;
using System.Collections;
using System.Collections.Generic;

class Moves : IEnumerable<int>, IComparable<Moves> {
	int IComparable<Moves>.CompareTo(Moves other) {
		return 0;
	}

	IEnumerator<int> IEnumerable<int>.GetEnumerator() {
		for (int i = 0; i < 3; i++)
			yield return i;
	}

	IEnumerator IEnumerable.GetEnumerator() {
		return null;
	}

	static void Main() {
		int sum = 0;
		Func<int, int> add = n => n + sum;
		for (int i = 0; i < 10; i++) {
			var m = new Moves();
			foreach (int n in (IEnumerable<int>)m)
				sum = add(n);
			sum += ((IComparable<Moves>)m).CompareTo(m);
		}
		Console.WriteLine("sum {0}", sum);
	}
}
