// The source of values.dll: mcs -target:library -out:values.dll values.cs
using System;
using System.Threading;

namespace Depot {
	public struct Held { public string Text; }
	public struct Pair { public int First; public Held Second; public int Third; }

	public class Order {
		public static TimeSpan? Until(DateTime from, Guid id, decimal price, int? most, CancellationToken stop, string who) {
			return most == 0 ? (TimeSpan?)null : DateTime.MaxValue - from;
		}
		public static bool Few(bool? known, DateTime? at, char mark) { return known == true; }
		public Pair Mixed(Pair pair, string who) { return pair; }
	}
}
