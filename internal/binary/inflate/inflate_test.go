package inflate

import (
	"bytes"
	"compress/zlib"
	"io"
	"math/rand/v2"
	"os"
	"testing"
)

// kinds of data: what has no redundancy is stored, short runs overlap, texts need long codes.
func kinds(t testing.TB) map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	random := make([]byte, 200_000)
	for i := range random {
		random[i] = byte(r.Uint32())
	}
	skewed := make([]byte, 300_000)
	for i := range skewed {
		skewed[i] = byte(r.ExpFloat64() * 4)
	}
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"nothing": nil, "a byte": {7}, "zeros": make([]byte, 100_000), "random": random, "skewed": skewed,
		"short runs": bytes.Repeat([]byte("abcabcabd"), 20_000), "program": program[:min(len(program), 3<<20)],
	}
}

func packed(t testing.TB, data []byte, level int) []byte {
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSteps(t *testing.T) {
	for name, data := range kinds(t) {
		for level := zlib.HuffmanOnly; level <= zlib.BestCompression; level++ {
			in := packed(t, data, level)
			for _, step := range []int{1, 777, 64 << 10, len(data) + 1} {
				if len(data)/step > 1000 {
					continue
				}
				out := make([]byte, len(data))
				r, err := New(in, out)
				if err != nil {
					t.Fatal(name, err)
				}
				for n := 0; ; n += step {
					if err := r.To(n); err != nil {
						t.Fatalf("%s, level %d, %d of %d bytes: %v", name, level, n, len(data), err)
					}
					if done := r.Done(); done < min(n, len(data)) || !bytes.Equal(out[:done], data[:done]) {
						t.Fatalf("%s, level %d: the first %d bytes of %d wanted are wrong", name, level, done, n)
					}
					if n > len(data) {
						break
					}
				}
			}
		}
	}
}

// TestSize tells that the size was another one, and that the sum is compared.
func TestSize(t *testing.T) {
	data := []byte("the size of this text is known beforehand, of this text")
	in := packed(t, data, 6)
	decode := func(in []byte, size int) error {
		r, err := New(in, make([]byte, size))
		if err != nil {
			return err
		}
		return r.To(size)
	}
	if err := decode(in, len(data)); err != nil {
		t.Error(err)
	}
	if err := decode(in, len(data)-1); err != ErrMore {
		t.Error("a byte less:", err)
	}
	if err := decode(in, len(data)+1); err != io.ErrUnexpectedEOF {
		t.Error("a byte more:", err)
	}
	for n := range in {
		if decode(in[:n], len(data)) == nil {
			t.Errorf("the first %d of %d bytes are enough", n, len(in))
		}
	}
	in[len(in)-1]++
	if err := decode(in, len(data)); err != errSum {
		t.Error("another sum:", err)
	}
}

// FuzzAgainstZlib: what the standard library takes is decompressed to the same, and what it refuses is refused.
func FuzzAgainstZlib(f *testing.F) {
	for _, data := range kinds(f) {
		data = data[:min(len(data), 1000)]
		f.Add(packed(f, data, 6), 0)
		f.Add(packed(f, data, zlib.HuffmanOnly), 10)
		f.Add(packed(f, data, 0), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, step int) {
		const most = 1 << 20
		var want []byte
		z, err := zlib.NewReader(bytes.NewReader(in))
		if err == nil {
			if want, err = io.ReadAll(io.LimitReader(z, most+1)); len(want) > most {
				return
			}
		}
		out := make([]byte, len(want))
		r, got := New(in, out)
		if got == nil {
			for n := 0; n < len(out) && step > 0 && got == nil; n += step {
				got = r.To(n)
			}
			if got == nil {
				got = r.To(len(out))
			}
		}
		if (got == nil) != (err == nil) {
			t.Fatalf("%v, and zlib says %v", got, err)
		}
		if got == nil && !bytes.Equal(out, want) {
			t.Fatal("other bytes")
		}
	})
}

func Benchmark(b *testing.B) {
	data := kinds(b)["program"]
	in, out := packed(b, data, 6), make([]byte, len(data))
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			r, err := New(in, out)
			if err == nil {
				err = r.To(len(out))
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("zlib", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			z, err := zlib.NewReader(bytes.NewReader(in))
			if err == nil {
				_, err = io.ReadFull(z, out)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
