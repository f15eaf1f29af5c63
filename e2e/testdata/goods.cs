// Gives methods of .NET's library objects: exceptions, lists, dictionaries, and others with fields, on each line of input.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Text;
using System.Threading;

class Order {
	public int Number { get; set; }
	public string Customer;
}

class Broken : InvalidOperationException {
	public Order Of;
	public Broken(string why, Exception inner) : base(why, inner) { }
}

class Goods {
	static void Main() {
		Console.WriteLine("ready");
		var names = new List<string> { "one", "two", "three" };
		var ages = new Dictionary<string, int> { { "a", 1 }, { "b", 2 }, { "c", 3 } };
		ages.Remove("b");
		while (Console.ReadLine() != null) {
			try {
				throw new Broken("nothing left", new FileNotFoundException("no such é", "x.txt"));
			} catch (Broken e) {
				names.Add(e.Message);
			}
			string.Join("-", names);
			string.Concat((IEnumerable<string>)names);
			GC.KeepAlive(new List<int> { 5, 6, 7 }.ToArray());
			Comparer<object>.Default.Compare(new Order(), null);
			object.Equals(new Order { Number = 7, Customer = "ann" }, names);
			object.Equals(ages, "text");
			object.Equals(new int[] { 1, 2 }, 5);
			new StringBuilder("text", 40).Append(12).ToString();
			string.Join(",", new string[] { "x", null, "yé" });
			names.Contains("two");
			ages.TryGetValue("c", out int n);
			var info = new ProcessStartInfo("/bin/true", "-v all") { UseShellExecute = false };
			Process.Start(info).WaitForExit();
			Console.WriteLine("done");
		}
	}
}
