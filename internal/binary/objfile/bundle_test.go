package objfile

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// bundleOf is a program with files behind it, as the build of .NET makes one.
func bundleOf(t testing.TB, files map[string]string, packed string) []byte {
	t.Helper()
	le := binary.LittleEndian
	const head, segment, flags = 64 + 56, 64, 6 // writable
	b := make([]byte, head)
	copy(b, "\x7fELF\x02\x01\x01")
	le.PutUint16(b[16:], 3)
	le.PutUint16(b[18:], 62)
	le.PutUint64(b[32:], segment)
	le.PutUint16(b[52:], 64)
	le.PutUint16(b[54:], 56)
	le.PutUint16(b[56:], 1)
	le.PutUint32(b[segment:], 1)
	le.PutUint32(b[segment+4:], flags)
	le.PutUint64(b[segment+8:], head)
	le.PutUint64(b[segment+16:], head)
	le.PutUint64(b[segment+32:], 8+uint64(len(bundleMarker)))
	le.PutUint64(b[segment+40:], 8+uint64(len(bundleMarker)))
	at := len(b)
	b = append(append(b, make([]byte, 8)...), bundleMarker...)
	var list []byte
	for _, name := range []string{"app.dll", "x/lib.dll"} {
		text := files[name]
		list = le.AppendUint64(list, uint64(len(b)))
		list = le.AppendUint64(list, uint64(len(text)))
		if name == packed {
			list = le.AppendUint64(list, 5)
		} else {
			list = le.AppendUint64(list, 0)
		}
		list = append(append(list, 1, byte(len(name))), name...)
		b = append(b, text...)
	}
	le.PutUint64(b[at:], uint64(len(b)))
	b = le.AppendUint32(b, bundleVersion)
	b = le.AppendUint32(b, 0)
	b = le.AppendUint32(b, 2)
	b = append(append(b, 2), "id"...)
	b = append(b, make([]byte, 40)...)
	return append(b, list...)
}

func TestBundle(t *testing.T) {
	managed, err := os.ReadFile("../clr/testdata/shapes.dll")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "app")
	files := map[string]string{"app.dll": "MZ", "x/lib.dll": string(managed)}
	if err := os.WriteFile(file, bundleOf(t, files, "app.dll"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list := f.Bundle()
	if len(list) != 2 || list[0].Name != "app.dll" || !list[0].Packed || list[1].Name != "x/lib.dll" || list[1].Packed ||
		!list[1].Assembly || list[1].Size != uint64(len(managed)) {
		t.Fatalf("%+v", list)
	}
	member, err := Open(file + "!/x/lib.dll")
	if err != nil {
		t.Fatal(err)
	}
	defer member.Close()
	if member.Managed() == nil || member.Base() != list[1].Offset || member.AttachPath() != file ||
		!bytes.Equal(member.data, managed) {
		t.Errorf("%v, %#x, %s", member.Managed(), member.Base(), member.AttachPath())
	}
	for name, want := range map[string]string{"app.dll": "is compressed in the program", "no.dll": "no file"} {
		if _, err := Open(file + "!/" + name); err == nil || !bytes.Contains([]byte(err.Error()), []byte(want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzBundle(f *testing.F) {
	f.Add(bundleOf(f, map[string]string{"app.dll": "MZ", "x/lib.dll": "text"}, ""), uint64(166))
	f.Fuzz(func(t *testing.T, data []byte, at uint64) {
		for _, b := range bundled(data, at) {
			if !b.Packed && (b.Offset > uint64(len(data)) || b.Size > uint64(len(data))-b.Offset) {
				t.Errorf("%+v lies outside", b)
			}
		}
	})
}
