// Has methods that are compiled while it runs, of which some are called for the first time only when it goes on.
using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.CompilerServices;

class Late {
	static int sum;

	[MethodImpl(MethodImplOptions.NoInlining)]
	static bool Early(int n, string path) {
		sum += n;
		return Directory.Exists(path);
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static bool After<T>(List<T> all, string[] path) {
		sum += all.Count;
		return Directory.Exists(path[0]) && sum != 0;
	}

	static void Main() {
		for (int i = 0; i < 100; i++)
			Early(i, "/proc/self");
		Console.WriteLine("ready");
		while (Console.ReadLine() != null) {
			for (int i = 0; i < 2000; i++) {
				Early(i, "/proc/self");
				After(new List<int>(), new string[] { "/proc/self" });
			}
			Console.WriteLine("done");
		}
	}
}
