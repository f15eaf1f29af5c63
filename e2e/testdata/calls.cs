// Calls methods of .NET's library that were compiled ahead of time, from several threads, while the garbage collector runs
// and exceptions leave frames. It checks what it gets.
using System;
using System.IO;
using System.Threading;

class Calls {
	const int Threads = 4, Rounds = 2000;
	static int wrong, found, thrown;

	static void Work(object number) {
		object[] kept = new object[64];
		for (int i = 0; i < Rounds; i++) {
			kept[i % kept.Length] = new string((char)('a' + i % 26), 200);
			if (File.Exists(i % 2 == 0 ? "/proc/self/status" : "/none/" + number + "/" + i) != (i % 2 == 0))
				Interlocked.Increment(ref wrong);
			else if (i % 2 == 0)
				Interlocked.Increment(ref found);
			if (i % 20 == 0) {
				try {
					File.ReadAllText("/none/" + i);
				} catch (IOException) {
					Interlocked.Increment(ref thrown);
				}
			}
			if (i % 100 == 0)
				GC.Collect();
			string s = (string)kept[i % kept.Length];
			if (s.Length != 200 || s[199] != (char)('a' + i % 26))
				Interlocked.Increment(ref wrong);
		}
	}

	static void Main() {
		Console.WriteLine("ready");
		Console.ReadLine();
		foreach (string path in new string[] { "/proc/self/status", "/none/\u00e9\u20ac\ud83d\ude00", "", null })
			File.Exists(path);
		Int32.Parse("-89");
		DateTime.Compare(new DateTime(2024, 2, 29, 12, 30, 15, DateTimeKind.Utc).AddTicks(5), DateTime.MinValue);
		TimeSpan.Compare(TimeSpan.FromMilliseconds(-1500), new TimeSpan(1, 2, 3, 4));
		Decimal.Compare(-12.50m, 0.0001m);
		new Guid("00112233-4455-6677-8899-aabbccddeeff").CompareTo(Guid.Empty);
		Guid.Empty.CompareTo(new Guid("00112233-4455-6677-8899-aabbccddeeff"));
		Thread[] all = new Thread[Threads];
		for (int i = 0; i < Threads; i++) {
			all[i] = new Thread(Work);
			all[i].Start(i);
		}
		foreach (Thread t in all)
			t.Join();
		Console.WriteLine("wrong {0} found {1} thrown {2}", wrong, found, thrown);
	}
}
