package result

import (
	"strconv"
	"strings"
	"time"
)

// AppendTime appends t as strftime(3) does with the C locale: all conversions of C and glibc with the flags _ - 0 ^ #,
// a width, and the modifiers E and O; %f is the microsecond, %:z the zone with a colon. This is the format of time().
func AppendTime(dst []byte, format string, t time.Time) []byte {
	return appendTime(dst, format, t, false)
}

// AppendStrftime is AppendTime with bpftrace's own conversions, the format of strftime(): as in bpftrace 0.27, %k is
// the nanosecond and %l the millisecond there, not the hour.
func AppendStrftime(dst []byte, format string, t time.Time) []byte {
	return appendTime(dst, format, t, true)
}

// timeSpec is one conversion of a time format.
type timeSpec struct {
	pad   byte // _ - 0, or 0: the conversion's own
	upper bool // ^
	swap  bool // #
	mod   byte // E, O, or 0
	width int
}

func appendTime(dst []byte, format string, t time.Time, fractions bool) []byte {
	for i := 0; i < len(format); {
		if format[i] != '%' {
			dst = append(dst, format[i])
			i++
			continue
		}
		if strings.HasPrefix(format[i:], "%:z") {
			dst = t.AppendFormat(dst, "-07:00")
			i += len("%:z")
			continue
		}
		spec, next := parseTimeSpec(format, i+1)
		if next == len(format) {
			return append(dst, format[i:]...)
		}
		if out, ok := spec.append(dst, format[next], t, fractions); ok {
			dst = out
		} else {
			dst = append(dst, format[i:next+1]...)
		}
		i = next + 1
	}
	return dst
}

// parseTimeSpec reads flags, width and modifier; next is the place of the conversion's letter, len(s) if there is none.
func parseTimeSpec(s string, i int) (spec timeSpec, next int) {
flags:
	for ; i < len(s); i++ {
		switch s[i] {
		case '_', '-', '0':
			spec.pad = s[i]
		case '^':
			spec.upper = true
		case '#':
			spec.swap = true
		default:
			break flags
		}
	}
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		spec.width = min(spec.width*10+int(s[i]-'0'), MaxField)
	}
	if i < len(s) && (s[i] == 'E' || s[i] == 'O') {
		spec.mod = s[i]
		i++
	}
	return spec, i
}

// append carries out one conversion; ok is false if there is none of that name.
func (s timeSpec) append(dst []byte, conv byte, t time.Time, fractions bool) (out []byte, ok bool) {
	if conv == 'f' {
		return appendZeros(dst, uint64(t.Nanosecond()/1000), 6), true
	}
	if fractions {
		switch conv {
		case 'k':
			return appendZeros(dst, uint64(t.Nanosecond()), 9), true
		case 'l':
			return appendZeros(dst, uint64(t.Nanosecond()/1e6), 3), true
		}
	}
	// The C locale has no alternative calendars and digits; on conversions that can't have any, glibc takes the modifier
	// for a mistake and shows it.
	if s.mod == 'E' && strings.IndexByte("aAbBdDeFgGhHIjklmMSUVwW", conv) >= 0 ||
		s.mod == 'O' && strings.IndexByte("aAcDFxXY", conv) >= 0 {
		return dst, false
	}
	switch conv {
	case 'a':
		return s.name(dst, t.Weekday().String()[:3]), true
	case 'A':
		return s.name(dst, t.Weekday().String()), true
	case 'b', 'h':
		return s.name(dst, t.Month().String()[:3]), true
	case 'B':
		return s.name(dst, t.Month().String()), true
	case 'c':
		return s.composed(dst, "%a %b %e %H:%M:%S %Y", t), true
	case 'C':
		return s.number(dst, floorDiv(t.Year(), 100), 2, '0'), true
	case 'd':
		return s.number(dst, t.Day(), 2, '0'), true
	case 'D', 'x':
		return s.composed(dst, "%m/%d/%y", t), true
	case 'e':
		return s.number(dst, t.Day(), 2, '_'), true
	case 'F':
		return s.composed(dst, "%Y-%m-%d", t), true
	case 'g':
		y, _ := t.ISOWeek()
		return s.number(dst, y-100*floorDiv(y, 100), 2, '0'), true
	case 'G':
		y, _ := t.ISOWeek()
		return s.year(dst, y), true
	case 'H':
		return s.number(dst, t.Hour(), 2, '0'), true
	case 'I':
		return s.number(dst, hour12(t), 2, '0'), true
	case 'j':
		return s.number(dst, t.YearDay(), 3, '0'), true
	case 'k':
		return s.number(dst, t.Hour(), 2, '_'), true
	case 'l':
		return s.number(dst, hour12(t), 2, '_'), true
	case 'm':
		return s.number(dst, int(t.Month()), 2, '0'), true
	case 'M':
		return s.number(dst, t.Minute(), 2, '0'), true
	case 'n':
		return s.text(dst, "\n"), true
	case 'p', 'P':
		return s.half(dst, conv, t), true
	case 'r':
		return s.composed(dst, "%I:%M:%S %p", t), true
	case 'R':
		return s.composed(dst, "%H:%M", t), true
	case 's':
		return s.number(dst, int(t.Unix()), 1, '_'), true
	case 'S':
		return s.number(dst, t.Second(), 2, '0'), true
	case 't':
		return s.text(dst, "\t"), true
	case 'T', 'X':
		return s.composed(dst, "%H:%M:%S", t), true
	case 'u':
		return s.number(dst, (int(t.Weekday())+6)%7+1, 1, '0'), true
	case 'U':
		return s.number(dst, (t.YearDay()-1+7-int(t.Weekday()))/7, 2, '0'), true
	case 'V':
		_, w := t.ISOWeek()
		return s.number(dst, w, 2, '0'), true
	case 'w':
		return s.number(dst, int(t.Weekday()), 1, '0'), true
	case 'W':
		return s.number(dst, (t.YearDay()-1+7-(int(t.Weekday())+6)%7)/7, 2, '0'), true
	case 'y':
		return s.number(dst, t.Year()-100*floorDiv(t.Year(), 100), 2, '0'), true
	case 'Y':
		return s.year(dst, t.Year()), true
	case 'z':
		return s.offset(dst, t), true
	case 'Z':
		return s.zone(dst, t), true
	case '%':
		return s.text(dst, "%"), true
	}
	return dst, false
}

func hour12(t time.Time) int { return (t.Hour()+11)%12 + 1 }

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// number shows n with at least digits digits, filled as the flags or else the conversion (pad) say.
func (s timeSpec) number(dst []byte, n, digits int, pad byte) []byte {
	if s.pad != 0 {
		pad = s.pad
	}
	start := len(dst)
	u := uint64(n)
	if n < 0 {
		dst = append(dst, '-')
		u = -u
	}
	sign := len(dst)
	dst = strconv.AppendUint(dst, u, 10)
	switch pad {
	case '-':
		return padLeft(dst, start, s.width, ' ')
	case '_':
		return padLeft(dst, start, max(digits, s.width), ' ')
	}
	return padLeft(dst, sign, max(digits, s.width)-(sign-start), '0')
}

// year is a number without zeros in front: strftime(3) gives years before 1000 fewer digits.
func (s timeSpec) year(dst []byte, y int) []byte { return s.number(dst, y, 1, '0') }

// text shows a fixed text in the width, right-aligned.
func (s timeSpec) text(dst []byte, text string) []byte {
	start := len(dst)
	dst = append(dst, text...)
	if s.upper {
		upper(dst[start:])
	}
	return s.fill(dst, start)
}

// fill widens a text to the width.
func (s timeSpec) fill(dst []byte, start int) []byte {
	if s.pad == '0' {
		return padLeft(dst, start, s.width, '0')
	}
	return padLeft(dst, start, s.width, ' ')
}

// name is a text whose # flag means upper case.
func (s timeSpec) name(dst []byte, name string) []byte {
	s.upper = s.upper || s.swap
	return s.text(dst, name)
}

// composed is a conversion that stands for a format.
func (s timeSpec) composed(dst []byte, format string, t time.Time) []byte {
	start := len(dst)
	dst = appendTime(dst, format, t, false)
	if s.upper {
		upper(dst[start:])
	}
	return s.fill(dst, start)
}

// half is AM or PM; %P and the # flag give small letters.
func (s timeSpec) half(dst []byte, conv byte, t time.Time) []byte {
	names := [...]string{"AM", "PM", "am", "pm"}
	i := t.Hour() / 12
	if conv == 'P' || s.swap {
		i += 2
		s.upper = s.upper && conv != 'P'
	}
	return s.text(dst, names[i])
}

// zone is the abbreviation of the time zone; the # flag gives small letters.
func (s timeSpec) zone(dst []byte, t time.Time) []byte {
	name, _ := t.Zone()
	start := len(dst)
	dst = s.text(dst, name)
	if s.swap {
		for i := start; i < len(dst); i++ {
			if c := dst[i]; c >= 'A' && c <= 'Z' {
				dst[i] = c - 'A' + 'a'
			}
		}
	}
	return dst
}

// offset is the distance from UTC: +hhmm.
func (s timeSpec) offset(dst []byte, t time.Time) []byte {
	_, sec := t.Zone()
	sign := byte('+')
	if sec < 0 {
		sign, sec = '-', -sec
	}
	dst = append(dst, sign)
	start := len(dst)
	dst = strconv.AppendInt(dst, int64(sec/3600*100+sec/60%60), 10)
	switch s.pad {
	case '-':
		return dst
	case '_':
		return padLeft(dst, start, max(4, s.width-1), ' ')
	}
	return padLeft(dst, start, max(4, s.width-1), '0')
}
