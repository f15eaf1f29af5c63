package target

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"trocar/internal/order"
)

// CgroupID is the id of a cgroup by its folder, as the builtin `cgroup` shows it for the processes in there.
func CgroupID(dir string) (uint64, error) {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, dir, 0)
	if err != nil {
		return 0, fmt.Errorf("%s: no cgroup ID: %w", dir, err)
	}
	// kernfs hands out the id alone (FILEID_KERNFS, include/linux/exportfs.h).
	if b := h.Bytes(); len(b) == 8 {
		return binary.NativeEndian.Uint64(b), nil
	}
	return 0, fmt.Errorf("%s: not a cgroup directory", dir)
}

// CgroupPath is where a cgroup is.
type CgroupPath struct {
	Hierarchy string // "unified" for version 2, else the name of the mount's folder: "memory"
	Path      string // from the hierarchy's root
}

// Cgroups resolves cgroup ids. The zero value is ready.
type Cgroups struct {
	mounts []cgroupMount // nil: not read yet
	cache  map[cgroupKey]string
}

type cgroupMount struct {
	name, dir string
}

type cgroupKey struct {
	mount int
	id    uint64
}

// maxCgroups bounds what is remembered.
const maxCgroups = 4096

// Paths finds a cgroup in all mounted hierarchies whose name matches the filter ("*" and "?" as in a file name, ""
// means all): version 2 first, then by name. Ids are per hierarchy: the one of the builtin `cgroup` is of version 2.
func (c *Cgroups) Paths(id uint64, filter string) ([]CgroupPath, error) {
	if c.mounts == nil {
		text, err := readLimited("/proc/self/mounts", nil, maxMapsBytes)
		if err != nil {
			return nil, fmt.Errorf("reading the list of mounts: %w", err)
		}
		c.mounts = cgroupMounts(text)
		c.cache = map[cgroupKey]string{}
	}
	var found []CgroupPath
	for i, m := range c.mounts {
		if filter != "" {
			ok, err := filepath.Match(filter, m.name)
			if err != nil {
				return nil, fmt.Errorf("the filter %q of cgroup hierarchies: %w", filter, err)
			}
			if !ok {
				continue
			}
		}
		if p, ok := c.lookup(i, id); ok {
			// The same hierarchy may be mounted twice.
			if at := (CgroupPath{m.name, p}); !slices.Contains(found, at) {
				found = append(found, at)
			}
		}
	}
	return found, nil
}

// Text is Paths in the form that the function `cgroup_path` has: "unified:/a/b,memory:/a".
func (c *Cgroups) Text(id uint64, filter string) (string, error) {
	paths, err := c.Paths(id, filter)
	var b strings.Builder
	for i, p := range paths {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(p.Hierarchy + ":" + p.Path)
	}
	return b.String(), err
}

// cgroupMounts reads lines of "DEVICE DIR TYPE …".
func cgroupMounts(text []byte) []cgroupMount {
	v1, v2 := []cgroupMount{}, []cgroupMount{}
	for line := range bytes.Lines(text) {
		f := strings.Fields(string(line))
		if len(f) < 3 {
			continue
		}
		dir := unescapeMount(f[1])
		switch f[2] {
		case "cgroup2":
			v2 = append(v2, cgroupMount{"unified", dir})
		case "cgroup":
			v1 = append(v1, cgroupMount{filepath.Base(dir), dir})
		}
	}
	order.By(v1, func(a, b cgroupMount) int { return strings.Compare(a.name, b.name) })
	return append(v2, v1...)
}

// unescapeMount undoes the kernel's escapes of blanks in mount points (mangle in fs/seq_file.c).
func unescapeMount(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

func (c *Cgroups) lookup(mount int, id uint64) (string, bool) {
	key := cgroupKey{mount, id}
	dir := c.mounts[mount].dir
	if p, ok := c.cache[key]; ok {
		if n, ok := inode(dir + p); ok && n == id {
			return p, true
		}
		delete(c.cache, key)
	}
	p, ok := cgroupByHandle(dir, id)
	if !ok {
		p, ok = cgroupByWalk(dir, id)
	}
	if ok {
		if len(c.cache) >= maxCgroups {
			clear(c.cache)
		}
		c.cache[key] = p
	}
	return p, ok
}

// cgroupByHandle asks the kernel, which knows ids as file handles since 5.5. It needs CAP_DAC_READ_SEARCH.
func cgroupByHandle(dir string, id uint64) (string, bool) {
	mnt, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(mnt)
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], id)
	const fileidKernfs = 0xfe // include/linux/exportfs.h
	fd, err := unix.OpenByHandleAt(mnt, unix.NewFileHandle(fileidKernfs, b[:]), unix.O_PATH|unix.O_CLOEXEC)
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	link, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return "", false
	}
	rest, ok := strings.CutPrefix(link, strings.TrimSuffix(dir, "/"))
	if n, isThere := inode(link); !ok || !isThere || n != id {
		return "", false
	}
	return cmp.Or(rest, "/"), true
}

func cgroupByWalk(dir string, id uint64) (string, bool) {
	found := errors.New("found")
	var path string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // removed meanwhile, or not ours to read
		}
		if n, ok := inode(p); ok && n == id {
			path = cmp.Or(strings.TrimPrefix(p, dir), "/")
			return found
		}
		return nil
	})
	return path, err == found
}

func inode(path string) (uint64, bool) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return 0, false
	}
	return st.Ino, true
}
