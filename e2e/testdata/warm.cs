// Calls a method of .NET's library all the time, until its input ends.
using System;
using System.IO;
using System.Threading;

class Warm {
	static void Main() {
		new Thread(delegate() {
			Console.ReadLine();
			Environment.Exit(0);
		}).Start();
		Console.WriteLine("ready");
		for (long i = 0; ; i++) {
			File.Exists("/none/" + i);
			Thread.Sleep(1);
		}
	}
}
