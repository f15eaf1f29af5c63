package result

import (
	"strings"
	"unicode/utf8"
)

// leastCell is how many characters of a name are left at least.
const leastCell = 12

// leastInner is how many characters of what stands in brackets are left, or none.
const leastInner = 8

// leastName is how many characters a column of names must have to stand beside numbers.
const leastName = 30

// Fit appends a text of which lines that are longer than width, in characters, are shortened, and tells whether one
// was: the longest part of a line between two blanks, as shorten does.
func Fit(dst []byte, text string, width int) (fitted []byte, cut bool) {
	for line := range strings.Lines(text) {
		if len(line) <= width || utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) <= width {
			dst = append(dst, line...)
			continue
		}
		cut = true
		line, end := strings.TrimSuffix(line, "\n"), line[len(strings.TrimSuffix(line, "\n")):]
		cells := strings.Split(line, "  ")
		for over := utf8.RuneCountInString(line) - width; over > 0; {
			longest, most := 0, 0
			for i, c := range cells {
				if n := utf8.RuneCountInString(c); n > most {
					longest, most = i, n
				}
			}
			left := max(most-over, leastCell)
			if left >= most {
				break
			}
			cells[longest] = shorten(cells[longest], left)
			over -= most - left
		}
		dst = append(append(dst, strings.Join(cells, "  ")...), end...)
	}
	return dst, cut
}

// Fold appends a text of which lines that are longer than width are broken between words, where there are several.
func Fold(dst []byte, text string, width int) []byte {
	for line := range strings.Lines(text) {
		for n, i, blank := 0, 0, 0; i < len(line); n++ {
			_, size := utf8.DecodeRuneInString(line[i:])
			switch line[i] {
			case ' ':
				blank = i
			case '\x1b': // a colour, which takes no room
				size = max(1, strings.IndexByte(line[i:], 'm')+1)
				n--
			}
			if i += size; n >= width && blank > 0 && line[i-size] != '\n' {
				dst = append(append(dst, line[:blank]...), '\n')
				line, n, i, blank = line[blank+1:], -1, 0, 0
			}
		}
		dst = append(dst, line...)
	}
	return dst
}

// shorten makes a text of n characters of one that has more, with … for what is left out. That is taken from what
// stands in brackets, the longest first: arguments of calls and templates say less than the names and results around
// them. What is still too long is cut in the middle.
func shorten(text string, n int) string {
	for {
		over := utf8.RuneCountInString(text) - n
		if over <= 0 {
			return text
		}
		begin, end := longestBrackets(text)
		inner := utf8.RuneCountInString(text[begin:end])
		if inner < leastInner {
			return cutMiddle(text, n)
		}
		left := inner - over
		if left < leastInner {
			left = 1
		}
		text = text[:begin] + cutMiddle(text[begin:end], left) + text[end:]
	}
}

// longestBrackets is where the longest text in brackets is that is in no other brackets; nothing if they do not match.
func longestBrackets(text string) (begin, end int) {
	var open []byte
	start := 0
	for i := range len(text) {
		switch c := text[i]; c {
		case '(', '<', '{', '[':
			if c == '<' && strings.HasSuffix(strings.TrimSuffix(text[:i], "<"), "operator") {
				continue // a name
			}
			if open = append(open, c); len(open) == 1 {
				start = i + 1
			}
		case ')', '>', '}', ']':
			if c == '>' && i > 0 && (text[i-1] == '-' || strings.HasSuffix(strings.TrimSuffix(text[:i], ">"), "operator")) {
				continue
			}
			if len(open) == 0 || !strings.Contains("() <> {} []", string(open[len(open)-1])+string(c)) {
				return 0, 0
			}
			if open = open[:len(open)-1]; len(open) == 0 && i-start > end-begin && !telling(text[start:i]) {
				begin, end = start, i
			}
		}
	}
	if len(open) > 0 {
		return 0, 0
	}
	return begin, end
}

// telling are texts in brackets by which names are told apart: of a nameless namespace, and of what compilers made of a
// function (".constprop.0").
func telling(inner string) bool {
	return inner == "anonymous namespace" || strings.HasPrefix(inner, ".")
}

// cutMiddle leaves n characters of a longer text.
func cutMiddle(text string, n int) string {
	runes := []rune(text)
	tail := (n - 1) / 2
	return string(runes[:n-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// narrow makes the columns of texts behind those of numbers fit into a width, the widest first.
func narrow(rows [][]string, numbers, width int) (cut bool) {
	var widths []int
	over := -width
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if !strings.Contains(cell, "\n") {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	for i, w := range widths {
		if over += w; i > 0 {
			over += len(gap)
		}
	}
	room := -over // for the names
	for i := numbers; i < len(widths); i++ {
		room += len(gap) + widths[i]
	}
	if names := len(widths) - numbers; over > 0 && names > 0 && room-len(gap) < leastName+(names-1)*leastCell {
		// Long names stand below their numbers.
		for _, row := range rows {
			var own, below []string // in one line, and what has several
			for _, cell := range row[min(numbers, len(row)):] {
				if strings.Contains(cell, "\n") {
					below = append(below, cell)
				} else {
					own = append(own, cell)
				}
			}
			if text := strings.Join(own, gap); utf8.RuneCountInString(text) > room-len(gap) {
				clear(row[numbers:])
				row[numbers] = "\n    " + text
				copy(row[numbers+1:], below)
			}
		}
		over = 0
	}
	for over > 0 {
		widest, second := -1, leastCell
		for i := numbers; i < len(widths); i++ {
			switch {
			case widest < 0 || widths[i] > widths[widest]:
				if widest >= 0 {
					second = max(second, widths[widest])
				}
				widest = i
			default:
				second = max(second, widths[i])
			}
		}
		if widest < 0 || widths[widest] <= leastCell {
			break
		}
		if second == widths[widest] {
			second--
		}
		left := max(widths[widest]-over, second)
		over -= widths[widest] - left
		widths[widest] = left
	}
	for _, row := range rows {
		for i := numbers; i < len(row); i++ {
			if strings.Contains(row[i], "\n") {
				text, one := Fit(nil, row[i], width)
				row[i], cut = string(text), cut || one
			} else if utf8.RuneCountInString(row[i]) > widths[i] {
				row[i], cut = shorten(row[i], widths[i]), true
			}
		}
	}
	return cut
}
