package dotnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"trocar/internal/process/target"
)

// command is one of the runtime's diagnostics: the set and the number in it.
type command uint16

const (
	processInfo    command = 0x0404 // ProcessInfo2, .NET 6
	enablePerfMap  command = 0x0405 // .NET 8
	disablePerfMap command = 0x0406
)

func (c command) String() string {
	switch c {
	case processInfo:
		return "ProcessInfo"
	case enablePerfMap:
		return "EnablePerfMap"
	case disablePerfMap:
		return "DisablePerfMap"
	}
	return fmt.Sprintf("command %#x", uint16(c))
}

// perfMapOnly is the kind of map without code and dumps of it (PerfMapType).
const perfMapOnly = 3

// Messages have a magic, their size, the command and two bytes that are not used, in front of the payload.
const (
	ipcMagic  = "DOTNET_IPC_V1\x00"
	ipcHeader = len(ipcMagic) + 6
)

func request(c command, payload ...uint32) []byte {
	b := append([]byte(ipcMagic), make([]byte, 6)...)
	binary.LittleEndian.PutUint16(b[14:], uint16(ipcHeader+4*len(payload)))
	binary.BigEndian.PutUint16(b[16:], uint16(c))
	for _, v := range payload {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	return b
}

// unknownCommand is the HRESULT of a runtime that does not know a command.
const unknownCommand = 0x80131385

var errUnknown = errors.New("the runtime does not know the command")

// parseHeader gives the size of the payload behind a reply's header, and whether the runtime has done what was asked.
func parseHeader(b []byte) (size int, done bool, err error) {
	const server, ok, failed = 0xff, 0, 0xff
	size = int(binary.LittleEndian.Uint16(b[14:])) - ipcHeader
	if string(b[:14]) != ipcMagic || size < 0 || b[16] != server || b[17] != ok && b[17] != failed {
		return 0, false, errors.New("the runtime's answer has an unknown form")
	}
	return size, b[17] == ok, nil
}

// refused is what the runtime says of a command that it has not done.
func refused(c command, payload []byte) error {
	if len(payload) < 4 {
		return fmt.Errorf("the runtime refuses %v", c)
	}
	code := binary.LittleEndian.Uint32(payload)
	if code == unknownCommand {
		return fmt.Errorf("%w %v", errUnknown, c)
	}
	return fmt.Errorf("the runtime refuses %v with status %#x", c, code)
}

// exchange asks one thing over a connection.
func exchange(conn io.ReadWriter, c command, payload ...uint32) ([]byte, error) {
	if _, err := conn.Write(request(c, payload...)); err != nil {
		return nil, stalled(err)
	}
	head := make([]byte, ipcHeader)
	if _, err := io.ReadFull(conn, head); err != nil {
		return nil, stalled(err)
	}
	size, done, err := parseHeader(head)
	if err != nil {
		return nil, err
	}
	reply := make([]byte, size)
	if _, err := io.ReadFull(conn, reply); err != nil {
		return nil, stalled(err)
	}
	if !done {
		return nil, refused(c, reply)
	}
	return reply, nil
}

// patience is how long a runtime may take for a command.
const patience = 2 * time.Second

func stalled(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the runtime did not answer within %v", patience)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the runtime closed the connection without an answer")
	}
	return err
}

// facts are what the runtime tells of its process.
type facts struct {
	entry   string // name of the program's assembly
	version string
}

// parseFacts reads the answer to ProcessInfo2: the id, a cookie, and texts: command line, system, CPU, assembly,
// version.
func parseFacts(b []byte) (f facts, err error) {
	const before = 8 + 16
	if len(b) < before {
		return f, errors.New("the runtime's answer is cut short")
	}
	b = b[before:]
	var texts [5]string
	for i := range texts {
		var ok bool
		if texts[i], b, ok = wide(b); !ok {
			return f, errors.New("the runtime's answer is cut short")
		}
	}
	f.entry = printable(texts[3])
	f.version, _, _ = strings.Cut(printable(texts[4]), "+") // what follows names the commit
	return f, nil
}

// wide reads a text of UTF-16 behind the number of its units, one of which is a zero at the end.
func wide(b []byte) (text string, rest []byte, ok bool) {
	if len(b) < 4 {
		return "", nil, false
	}
	n := binary.LittleEndian.Uint32(b)
	b = b[4:]
	if uint64(n) > uint64(len(b)/2) {
		return "", nil, false
	}
	units := make([]uint16, n)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return strings.TrimRight(string(utf16.Decode(units)), "\x00"), b[2*n:], true
}

// printable is a text of the process as it may be shown.
func printable(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most]
	}
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// ask has the runtime do something, within the time that it has.
func (p *process) ask(c command, payload ...uint32) ([]byte, error) {
	end := time.Now().Add(p.patience)
	dir, err := p.pid.Folder(p.tmp)
	if err != nil {
		return nil, fmt.Errorf("%s of process %d: %w", p.tmp, p.pid, err)
	}
	defer dir.Close()
	conn, err := target.DialIn(dir, p.socket(), p.uid, end)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("the runtime's diagnostics socket is not there (%s/%s)", p.tmp, p.socket())
	case err != nil:
		return nil, stalled(err)
	}
	defer conn.Close()
	return exchange(conn, c, payload...)
}

// socket is the name of the runtime's socket, which has the time of its start so that it is not that of another one.
func (p *process) socket() string {
	return fmt.Sprintf("dotnet-diagnostic-%d-%d-socket", p.inner, p.start)
}
