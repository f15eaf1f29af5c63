package session

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unsafe"

	"trocar/internal/binary/image"
	"trocar/internal/binary/unwind"
	"trocar/internal/compile/record"
	"trocar/internal/process/stacktables"
	"trocar/internal/process/target"
	"trocar/result"
)

// walks are what the programs that walk user stacks ask for.
type walks struct {
	tables *stacktables.Tables
	asked  chan ask
	failed chan error // the first that nobody was told of
	told   bool
}

// ask is what a walk asks for: the file that is mapped at an address, of which it knows no table.
type ask struct {
	pid  target.PID
	addr uint64
}

// walkMaps are the maps in which the programs look.
type walkMaps struct {
	Maps
	programs Programs
}

func (m walkMaps) Rules(from int, rules []byte) error {
	return m.PutAt(record.UnwindRules, from*unwind.RuleSize, rules)
}

func (m walkMaps) Near(at uint32, words []byte) error {
	return m.PutAt(record.UnwindNear, int(at)*4, words)
}

func (m walkMaps) Words(piece uint32, value []byte) error {
	return m.PutPiece(record.UnwindWords, piece, value)
}

func (m walkMaps) File(key, value []byte) error { return m.Put(record.UnwindFiles, key, value) }

// FileKey has a program look at our own mapping: it is of the process that runs it.
func (m walkMaps) FileKey(page []byte) ([]byte, error) {
	value := make([]byte, record.UnwindFileSize)
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(page)))
	// It may be changed just now.
	for i := range 10 {
		clear(value)
		binary.LittleEndian.PutUint64(value, uint64(addr))
		if err := m.Put(record.UnwindFile, record.Key(), value); err != nil {
			return nil, err
		}
		if _, err := m.programs.Run(record.UnwindFile); err != nil {
			return nil, err
		}
		if err := m.Get(record.UnwindFile, record.Key(), value); err != nil {
			return nil, err
		}
		key := value[record.UnwindFileKey:][:record.FileKeySize]
		if binary.LittleEndian.Uint64(key) != 0 {
			return key, nil
		}
		time.Sleep(time.Duration(i) * 20 * time.Microsecond)
	}
	return nil, nil
}

// mostAsked is how many processes may wait to be looked at; those that are asked for beyond are asked for again.
const mostAsked = 64

// walk makes tables of the files that the traced processes have mapped, before anything is attached, and of those that
// programs ask for from then on.
func (s *Session) walk(ctx context.Context) {
	if !slices.ContainsFunc(s.in.Script.Layouts, func(l *record.Layout) bool { return l.Kind == record.Mapped }) {
		return
	}
	images := s.in.Images
	if images == nil {
		images = image.NewSet(ctx, image.Options{})
	}
	w := &walks{
		tables: stacktables.New(images, walkMaps{s.kernel.Maps, s.kernel.Programs}),
		asked:  make(chan ask, mostAsked), failed: make(chan error, 1),
	}
	s.walks = w
	for _, pid := range s.targets() {
		w.looked(w.tables.Process(pid))
	}
	s.ahead()
	s.background.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case a := <-w.asked:
				s.asked(a)
			}
		}
	})
}

// asked makes the table that a walk has asked for. Of a process that has ended meanwhile the file is looked for by its
// path: the next one that executes it is walked by the table, if it was that file.
func (s *Session) asked(a ask) {
	err := s.walks.tables.Asked(a.pid, a.addr)
	if errors.Is(err, target.ErrGone) {
		if path := s.names.symbols.Mapped(int(a.pid), a.addr); path != "" {
			err = s.walks.tables.File(target.Root{}, path)
		}
	}
	s.walks.looked(err)
	_ = s.names.symbols.Snapshot(int(a.pid)) // so that the file has names when it was deleted
}

// ahead makes tables of the files that processes are about to map: what is probed, and what a command executes.
func (s *Session) ahead() {
	var paths []string
	if s.command != nil {
		if exe, _, err := s.command.PID().Exe(); err == nil {
			paths = append(paths, exe)
		}
	}
	if s.in.PID == 0 {
		for _, p := range s.in.Points {
			if p.Path != "" && !slices.Contains(paths, p.Path) {
				paths = append(paths, p.Path)
			}
		}
	}
	for _, path := range paths {
		s.walks.fail(s.walks.tables.Ahead(target.Root{}, path))
	}
}

// looked keeps the error of a look at a process. It is none if it is gone, or not to be looked at.
func (w *walks) looked(err error) {
	if errors.Is(err, target.ErrGone) || errors.Is(err, target.ErrNoMemory) || errors.Is(err, os.ErrPermission) {
		return
	}
	w.fail(err)
}

// fail keeps an error until it is told. One tells enough: how many stacks are guessed is counted.
func (w *walks) fail(err error) {
	if err == nil {
		return
	}
	select {
	case w.failed <- err:
	default:
	}
}

// tellWalks tells, once, that tables of some files could not be given to the programs.
func (s *Session) tellWalks() error {
	if s.walks == nil || s.walks.told {
		return nil
	}
	select {
	case err := <-s.walks.failed:
		s.walks.told = true
		return s.notice(result.Warning, "call stacks are walked by frame pointers in some files: %v", err)
	default:
		return nil
	}
}

// hints tell which files may be the cause of stacks that are guessed.
func (w *walks) hints() []string {
	if w == nil {
		return nil
	}
	bare := w.tables.Bare()
	if len(bare) == 0 {
		return nil
	}
	const most = 3
	names := strings.Join(bare[:min(len(bare), most)], ", ")
	if more := len(bare) - most; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return []string{"most of the code of these mapped files has no call frame information (.eh_frame, .debug_frame): " +
		names + "; built with -fasynchronous-unwind-tables, it would"}
}

// targets are the processes that are named.
func (s *Session) targets() (pids []target.PID) {
	if s.in.PID != 0 {
		pids = append(pids, target.PID(s.in.PID))
	}
	for _, pid := range s.in.Others {
		pids = append(pids, target.PID(pid))
	}
	if s.command != nil {
		pids = append(pids, s.command.PID())
	}
	return pids
}

// mapped takes what a walk asks for.
func (s *Session) mapped(a ask) {
	if s.walks == nil {
		return
	}
	select {
	case s.walks.asked <- a:
	default: // it is asked for again
	}
}

// asks tells whether a record is of a walk that asks for a file, and for which. Such are no events.
func asks(l *record.Layout, rec []byte) (a ask, ok bool) {
	if l.Kind != record.Mapped || len(l.Args) != 2 || len(rec) < l.Args[1].Offset+8 {
		return a, false
	}
	a.pid = target.PID(binary.LittleEndian.Uint64(rec[l.Args[0].Offset:]))
	a.addr = binary.LittleEndian.Uint64(rec[l.Args[1].Offset:])
	return a, true
}
