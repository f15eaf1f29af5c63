package record

import (
	"fmt"

	"trocar/internal/binary/types"
)

// Check tells whether a script is one that can be read by: what refers to something finds it, and what is decoded
// lies where it says. A script that codegen made is.
func (s *Script) Check() error {
	for i, l := range s.Layouts {
		if err := s.layout(i, l); err != nil {
			return fmt.Errorf("the layout of record %d: %w", i, err)
		}
	}
	for i := range s.Storage {
		if err := s.Storage[i].check(); err != nil {
			return fmt.Errorf("the storage of map %d: %w", i, err)
		}
	}
	if s.StackSize < 0 || s.StackSize > maxValue {
		return fmt.Errorf("stacks of %d bytes", s.StackSize)
	}
	for i, l := range s.Losses {
		if l.Kind >= lossKinds || l.Kind == LostUpdates && !s.hasMap(l.Map) {
			return fmt.Errorf("counter %d is of an unknown kind or map", i)
		}
	}
	return nil
}

func (s *Script) hasMap(i int) bool { return i >= 0 && i < len(s.Storage) }

func (s *Script) layout(i int, l *Layout) error {
	if l == nil || l.ID != i || l.Size < s.HeaderSize() {
		return fmt.Errorf("it has another number, or no header")
	}
	least := 0
	switch l.Kind {
	case Printf, Errorf, Warnf, Time, Join, Cat, System, Exit:
	case Print, HelperError, Unwatch, Mapped:
		least = 1
	case PrintMap, Clear, Zero:
		if !s.hasMap(l.Map) {
			return fmt.Errorf("there is no map %d", l.Map)
		}
	default:
		return fmt.Errorf("its kind %d is not known", l.Kind)
	}
	if len(l.Args) < least {
		return fmt.Errorf("it has %d arguments", len(l.Args))
	}
	for j, a := range l.Args {
		size := 0
		if a.Dynamic {
			size = 4
		}
		if a.Type == nil || a.Offset < s.HeaderSize() || a.Offset > l.Size-size {
			return fmt.Errorf("argument %d is outside of it", j)
		}
	}
	return nil
}

func (s *Storage) check() error {
	t := s.Map.Value
	if t == nil || s.Scalar != (s.Map.Key == nil) {
		return fmt.Errorf("%s has no type", s.Map.Name)
	}
	size, ok := aggregationSize(t)
	if !ok || t.Size != size || s.ValueSize < t.Size || t.Size < 0 || s.ValueSize > maxValue {
		return fmt.Errorf("the values of %s have %d bytes", s.Map.Name, t.Size)
	}
	return nil
}

// maxValue bounds the values of maps: the kernel's bound is lower (KMALLOC_MAX_SIZE, 4 MB).
const maxValue = 1 << 30

// aggregationSize is the size of a map's value by its kind.
func aggregationSize(t *types.Type) (size int, ok bool) {
	switch t.Kind {
	case types.Hist:
		if t.Bits < 0 || t.Bits > 5 {
			return 0, false
		}
		return 8 * types.HistBuckets(t.Bits), true
	case types.LHist:
		if t.Step <= 0 || t.Max < t.Min || uint64(t.Max-t.Min)/uint64(t.Step) > 1<<20 {
			return 0, false
		}
		return types.LHistOf(t.Min, t.Max, t.Step).Size, true
	case types.Times:
		return types.TimesOf().Size, true
	case types.TSeries:
		if t.Series == nil || t.Series.Count < 0 || t.Series.Count > 1<<20 {
			return 0, false
		}
		return 24 * t.Series.Count, true
	case types.Count, types.Sum, types.Min, types.Max, types.Avg, types.Stats:
		return types.AggOf(t.Kind, t.Signed).Size, true
	}
	return t.Size, t.Kind < types.Count
}
