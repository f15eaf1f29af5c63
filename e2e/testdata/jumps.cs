// Calls a method that ends with a jump to another one once it is optimized.
using System;
using System.Runtime.CompilerServices;

class Jumps {
	static string Outer(string path) {
		if (path != "empty")
			return Inner(path, 1);
		return "";
	}

	[MethodImpl(MethodImplOptions.NoInlining)]
	static string Inner(string path, int n) {
		return path + n;
	}

	static void Main() {
		Func<string, string> outer = Outer; // which is not inlined
		Console.WriteLine("ready");
		while (Console.ReadLine() != null) {
			int wrong = 0;
			for (int i = 0; i < 5; i++)
				if (outer("path") != "path1" || outer("empty") != "")
					wrong++;
			Console.WriteLine("wrong {0}", wrong);
		}
	}
}
