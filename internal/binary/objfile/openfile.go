package objfile

import (
	"os"

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
