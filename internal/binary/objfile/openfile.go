package objfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// OpenFile maps an ELF file that is open already, such as one that is mapped in a process but deleted. path is the name it
// is known by, from which its debug file is looked for. f may be closed afterwards.
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
