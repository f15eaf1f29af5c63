package objfile

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"trocar/internal/binary/opener"
)

// OpenFile maps an ELF file that is open already, such as one that is mapped in a process but deleted. path is the name
// it is known by, from which its debug file is looked for. f may be closed afterwards.
func OpenFile(f *os.File, path string) (*File, error) {
	mapped, err := mapFD(path, int(f.Fd()))
	if err != nil {
		return nil, err
	}
	file, err := newFile(path, mapped, 0, uint64(len(mapped)))
	if err != nil {
		unix.Munmap(mapped)
		return nil, err
	}
	return file, nil
}

// Modified is when the file was written to last, in nanoseconds since 1970, as far as the system tells that of what is
// mapped: what is read of it is what was written then.
func (f *File) Modified() (ns int64, ok bool) {
	if len(f.mapped) == 0 {
		return 0, false
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(f.mapped)))
	page := uintptr(os.Getpagesize())
	end := (start + uintptr(len(f.mapped)) + page - 1) &^ (page - 1)
	info, err := os.Stat(fmt.Sprintf("/proc/self/map_files/%x-%x", start, end))
	if err != nil {
		return 0, false
	}
	return info.ModTime().UnixNano(), true
}

// OpenNamed opens a file that this one, or one of its debug files, names. It shares this one's Room.
func (f *File) OpenNamed(names opener.Names, path string) (*File, error) {
	file, err := names.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	defer file.Close()
	opened, err := OpenFile(file, path)
	if err != nil {
		return nil, err
	}
	opened.Share(f.room)
	return opened, nil
}
