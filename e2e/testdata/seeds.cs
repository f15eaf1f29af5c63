// What the sample of the seeds does: numbers by their place, and texts of 3 to 15 characters, again and again; also by
// methods of .NET's library.
using System;
using System.IO;
using System.Threading;

namespace SampleApp.Providers {
	class FibonacciProvider {
		public int calculateFibonacciValue(int pos) {
			return calculateFibonacciValueRecursive(pos, 0, 1, 1);
		}

		int calculateFibonacciValueRecursive(int pos, int at, int current, int next) {
			return at == pos ? current : calculateFibonacciValueRecursive(pos, at + 1, next, current + next);
		}
	}

	class EchoProvider {
		public string calculateEchoValue(string echo) {
			return File.Exists(echo) ? null : echo;
		}
	}
}

class Seeds {

	static void Main() {
		string[] echoes = { "abc", "abcdef", "abcdefghi", "abcdefghijkl", "abcdefghijklmno" };
		int sum = 0;
		var fibonacci = new SampleApp.Providers.FibonacciProvider();
		var echo = new SampleApp.Providers.EchoProvider();
		new Thread(delegate() {
			Console.ReadLine();
			Environment.Exit(0);
		}).Start();
		Console.WriteLine("ready");
		for (int i = 0; ; i++) {
			sum += DateTime.DaysInMonth(2024, fibonacci.calculateFibonacciValue(3));
			sum += Int32.Parse(fibonacci.calculateFibonacciValue(10).ToString());
			sum += echo.calculateEchoValue(echoes[i % echoes.Length]).Length;
			Thread.Sleep(10);
		}
	}
}
