// Gives a method of its own objects of its own types, on each line of input.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;

namespace App {
	public struct Point {
		public int X, Y;
	}

	public class User {
		public string Name { get; set; }
		public byte Age;
	}

	public class Request {
		string path;
		long id;
		User user;
		Point at;
		int? limit;
		List<Point> points;
		KeyValuePair<string, int> pair;

		public Request(int i) {
			path = "/p" + i;
			id = i * 10000000000;
			user = new User { Name = "ann é", Age = (byte)i };
			at = new Point { X = i, Y = -i };
			if (i % 2 == 0)
				limit = i;
			points = new List<Point> { at, new Point { X = 3, Y = 4 } };
			pair = new KeyValuePair<string, int>(path, i);
		}

		public int Size() {
			return path.Length + (int)id + user.Age + at.X + (limit ?? 0) + points.Count + pair.Value;
		}
	}

	class Fields {
		[MethodImpl(MethodImplOptions.NoInlining)]
		static int Handle(Request request, List<KeyValuePair<string, int>> pairs) {
			return request.Size();
		}

		static void Main() {
			Console.WriteLine("ready");
			while (Console.ReadLine() != null) {
				for (int i = 1; i <= 4; i++)
					Handle(new Request(i), null);
				Console.WriteLine("done");
			}
		}
	}
}
