// What the sample of the seeds does, by methods of .NET's library: dates by number, numbers by text, and texts of 3 to 15
// characters, again and again.
using System;
using System.IO;
using System.Threading;

class Seeds {
	static int Fibonacci(int pos) {
		return pos < 2 ? 1 : Fibonacci(pos - 1) + Fibonacci(pos - 2);
	}

	static bool Echo(string echo) {
		return File.Exists(echo);
	}

	static void Main() {
		string[] echoes = { "abc", "abcdef", "abcdefghi", "abcdefghijkl", "abcdefghijklmno" };
		int sum = 0;
		new Thread(delegate() {
			Console.ReadLine();
			Environment.Exit(0);
		}).Start();
		Console.WriteLine("ready");
		for (int i = 0; ; i++) {
			sum += DateTime.DaysInMonth(2024, 3) + Int32.Parse(Fibonacci(10).ToString());
			Echo(echoes[i % echoes.Length]);
			Thread.Sleep(10);
		}
	}
}
