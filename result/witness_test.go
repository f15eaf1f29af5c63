package result

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the zones, whatever the machine has
)

// The tables in testdata are what the C library gives (see witness.py).
func witness(t *testing.T, path string) [][]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var rows [][]string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		cols := strings.Split(lines.Text(), "\t")
		for i := range cols {
			cols[i] = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t").Replace(cols[i])
		}
		rows = append(rows, cols)
	}
	if err := lines.Err(); err != nil || len(rows) == 0 {
		t.Fatalf("%s: %d rows, %v", path, len(rows), err)
	}
	return rows
}

func TestFormatAsC(t *testing.T) {
	for _, cols := range witness(t, "testdata/printf.tsv") {
		f, err := ParseFormat(cols[0])
		if err != nil {
			t.Fatal(err)
		}
		for i := 2; i+1 < len(cols); i += 2 {
			var v Value
			switch cols[1] {
			case "int":
				n, _ := strconv.ParseInt(cols[i], 10, 64)
				v = Value{Kind: Int, Size: 8, Num: uint64(n)}
			case "float":
				x, _ := strconv.ParseFloat(cols[i], 64)
				v = Value{Kind: Float, Size: 8, Num: math.Float64bits(x)}
			default:
				v = Value{Kind: String, Text: cols[i]}
			}
			if got := string(f.Append(nil, []Value{v})); got != cols[i+1] {
				t.Errorf("%s of %s: got %q, the C library gives %q", cols[0], cols[i], got, cols[i+1])
			}
		}
	}
}

func TestTimeAsC(t *testing.T) {
	for _, cols := range witness(t, "testdata/strftime.tsv") {
		zone, err := time.LoadLocation(cols[0])
		if err != nil {
			t.Fatal(err)
		}
		if cols[2] == "[%f]" {
			continue // C has none, here it is the microsecond
		}
		sec, _ := strconv.ParseInt(cols[1], 10, 64)
		if got := string(AppendTime(nil, cols[2], time.Unix(sec, 0).In(zone))); got != cols[3] {
			t.Errorf("%s at %d in %s: got %q, the C library gives %q", cols[2], sec, zone, got, cols[3])
		}
	}
}
