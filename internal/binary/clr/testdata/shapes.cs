// The source of shapes.dll: mcs -target:library -out:shapes.dll shapes.cs
using System;
using System.Collections.Generic;

namespace Depot {
	public enum Unit : short { Piece = 1, Pallet = 40, None = -1 }

	public struct Size { public int Width; public int Height; public static int Made; }

	public class Shelf<T> {
		public class Slot { public int Take(int n) { return n; } }
		public T Put(T item, string label) { return item; }
		public static List<U> All<U>(U[] from, ref int count) { count = from.Length; return new List<U>(from); }
	}

	public interface ICount { int Count(); }

	public class Store : ICount {
		public Store(int room) { Room = room; }
		public int Room { get; private set; }
		int ICount.Count() { return Room; }
		public static bool Has(string name, Unit unit, Size size, char mark) { return name.Length > (int)unit + size.Width; }
		public long Move(int from, int to) { return from - to; }
		public long Move(int from, int to, Dictionary<string, int[,]> seen) { return from + to + seen.Count; }
	}
}
