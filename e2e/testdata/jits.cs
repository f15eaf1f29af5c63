// The sample of the seeds: methods that are compiled while it runs, and again when they are called often. It calls them as
// often as each line of its input says, and checks what it gets.
using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace SampleApp.Providers {
	class FibonacciProvider {
		[MethodImpl(MethodImplOptions.NoInlining)]
		public int calculateFibonacciValue(int pos) {
			return calculateFibonacciValueRecursive(pos, 0, 1, 1);
		}

		int calculateFibonacciValueRecursive(int pos, int at, int current, int next) {
			return at == pos ? current : calculateFibonacciValueRecursive(pos, at + 1, next, current + next);
		}
	}

	class EchoProvider {
		[MethodImpl(MethodImplOptions.NoInlining)]
		public string calculateEchoValue(string echo) {
			if (echo == null)
				throw new ArgumentException("nothing");
			return echo;
		}
	}
}

class Jits {
	static readonly string[] echoes = { "abc", "abcdef", "abcdefghi", "abcdefghijkl", "abcdefghijklmno" };
	static int calls, wrong;

	[MethodImpl(MethodImplOptions.NoInlining)]
	static int Sum<T>(T[] all, int n) {
		return all.Length + n;
	}

	static void Work(object number) {
		var fibonacci = new SampleApp.Providers.FibonacciProvider();
		var echo = new SampleApp.Providers.EchoProvider();
		for (int i = 0; i < (int)number; i++) {
			if (fibonacci.calculateFibonacciValue(10) != 89)
				Interlocked.Increment(ref wrong);
			if (echo.calculateEchoValue(echoes[i % 5]) != echoes[i % 5])
				Interlocked.Increment(ref wrong);
			Interlocked.Increment(ref calls);
		}
		if (Sum(echoes, 1) != 6)
			Interlocked.Increment(ref wrong);
		try {
			echo.calculateEchoValue(null);
		} catch (ArgumentException) {
			return;
		}
		Interlocked.Increment(ref wrong);
	}

	static void Main() {
		Console.WriteLine("ready");
		for (string line; (line = Console.ReadLine()) != null;) {
			Thread[] all = new Thread[2];
			for (int i = 0; i < all.Length; i++) {
				all[i] = new Thread(Work);
				all[i].Start(int.Parse(line) / all.Length);
			}
			foreach (Thread t in all)
				t.Join();
			Console.WriteLine("calls {0} wrong {1}", calls, wrong);
		}
	}
}
