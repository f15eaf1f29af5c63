package target

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Containers are told by their cgroups: whatever made one (docker, podman, containerd, CRI-O, LXC, systemd-nspawn) puts
// its id or name into the path. Names that are not in there are found in the runtimes' own files, without asking them.

// ErrNoContainer says that no running container has an id or name.
var ErrNoContainer = errors.New("no running container has this ID or name")

// Container is the first process of a running container, by its id, the beginning of that, or its name. All others that
// it starts with descend from it.
func Container(name string) (PID, error) {
	if name == "" {
		return 0, errors.New("the container's name is empty")
	}
	all, err := All()
	if err != nil {
		return 0, err
	}
	wanted := append([]string{name}, containerIDs(name, containerFiles())...)
	found, others := map[string][]PID{}, map[string]bool{}
	for _, pid := range all {
		b, err := pid.read("cgroup", 1<<16)
		if err != nil {
			continue // it has ended
		}
		ids := cgroupContainers(string(b))
		if len(ids) == 0 && named(string(b), name) {
			// A runtime that is used by itself (runc, crun) gives the cgroup the name alone; others may be called so, too.
			if own, err := pid.NSPIDs(); err == nil && len(own) > 1 {
				found[name] = append(found[name], pid)
			}
		}
		for _, id := range ids {
			others[id] = true
			if slices.ContainsFunc(wanted, func(w string) bool { return isContainer(id, w) }) {
				found[id] = append(found[id], pid)
			}
		}
	}
	switch len(found) {
	case 0:
		err := fmt.Errorf("container %q: %w", name, ErrNoContainer)
		if len(others) > 0 {
			return 0, fmt.Errorf("%w; there are %s", err, shortList(others))
		}
		return 0, err
	case 1:
		for _, pids := range found {
			return firstOf(pids), nil
		}
	}
	several := map[string]bool{}
	for id := range found {
		several[id] = true
	}
	return 0, fmt.Errorf("container %q: ambiguous: %s", name, shortList(several))
}

// Containers are the ids, or names, of the containers that run.
func Containers() (ids []string) {
	all, err := All()
	if err != nil {
		return nil
	}
	for _, pid := range all {
		b, err := pid.read("cgroup", 1<<16)
		if err != nil {
			continue
		}
		for _, id := range cgroupContainers(string(b)) {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// firstOf is the process with the id 1 in its PID namespace, or else the oldest.
func firstOf(pids []PID) PID {
	best, oldest := pids[0], ^uint64(0)
	for _, pid := range pids {
		if ids, err := pid.NSPIDs(); err == nil && len(ids) > 1 && ids[len(ids)-1] == 1 {
			return pid
		}
		if s, err := pid.Stat(); err == nil && s.Start < oldest {
			best, oldest = pid, s.Start
		}
	}
	return best
}

// shortList names some containers.
func shortList(ids map[string]bool) string {
	const most = 8
	var names []string
	for id := range ids {
		if isHex(id) {
			id = id[:12]
		}
		names = append(names, id)
	}
	slices.Sort(names)
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// cgroupContainers finds the ids or names of containers in /proc/PID/cgroup (cgroups(7)): lines of
// "hierarchy:controllers:path". Of containers inside others the innermost is meant, which comes last in the path.
func cgroupContainers(text string) (ids []string) {
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		parts := strings.Split(fields[2], "/")
		for i := len(parts) - 1; i > 0; i-- {
			if id := containerPart(parts[i-1], parts[i]); id != "" {
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
				break
			}
		}
	}
	return ids
}

// named tells whether a cgroup of /proc/PID/cgroup has a name.
func named(text, name string) bool {
	for line := range strings.Lines(text) {
		if strings.HasSuffix(strings.TrimSpace(line), "/"+name) {
			return true
		}
	}
	return false
}

// containerPart is the id or name in one part of a cgroup's path, "" if it is none.
func containerPart(parent, part string) string {
	core := strings.TrimSuffix(strings.TrimSuffix(part, ".scope"), ".service")
	switch {
	case strings.HasPrefix(part, "lxc.payload."): // LXC 4
		return strings.TrimPrefix(part, "lxc.payload.")
	case parent == "lxc":
		return part
	case strings.HasPrefix(core, "systemd-nspawn@"):
		return strings.TrimPrefix(core, "systemd-nspawn@")
	case core != part && strings.HasPrefix(core, "machine-"):
		return strings.ReplaceAll(strings.TrimPrefix(core, "machine-"), `\x2d`, "-")
	}
	// docker-ID.scope, libpod-ID.scope, cri-containerd-ID.scope, crio-ID.scope, /docker/ID, /kubepods/…/ID
	if i := strings.LastIndexByte(core, '-'); i >= 0 {
		core = core[i+1:]
	}
	if isHex(core) {
		return core
	}
	return ""
}

// isHex tells the ids of containers, which are 64 hexadecimal digits.
func isHex(s string) bool {
	if len(s) != 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// leastID is how much of an id is enough to name a container by it.
const leastID = 4

func isContainer(id, wanted string) bool {
	return id == wanted || isHex(id) && len(wanted) >= leastID && strings.HasPrefix(id, wanted)
}

// containerFiles are where runtimes keep what they know of their containers.
func containerFiles() []string {
	return []string{
		"/var/lib/docker/containers/*/config.v2.json",
		"/var/lib/containers/storage/overlay-containers/containers.json",
		"/var/lib/containers/storage/overlay-containers/volatile-containers.json",
		"/run/containerd/io.containerd.runtime.v2.task/*/*/config.json",
	}
}

// Bounds of these files: they are of others.
const (
	maxContainerFiles = 4096
	maxContainerFile  = 16 << 20
)

// containerIDs finds the ids of containers with a name.
func containerIDs(name string, patterns []string) (ids []string) {
	for _, pattern := range patterns {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths[:min(len(paths), maxContainerFiles)] {
			text, err := readLimited(path, nil, maxContainerFile)
			if err == nil {
				ids = append(ids, containerNamed(text, name, filepath.Base(filepath.Dir(path)))...)
			}
		}
	}
	return ids
}

// containerNamed finds a name in a runtime's file: docker's and the OCI runtime's are of one container, podman's lists
// all.
func containerNamed(text []byte, name, dir string) (ids []string) {
	var one struct {
		ID          string
		Name        string // docker: "/web"
		Annotations map[string]string
	}
	if name == "" {
		return nil
	}
	if json.Unmarshal(text, &one) == nil {
		id := one.ID
		if id == "" {
			id = dir
		}
		for _, n := range []string{
			strings.TrimPrefix(one.Name, "/"), one.Annotations["io.kubernetes.cri.container-name"],
			one.Annotations["nerdctl/name"],
		} {
			if n == name && isHex(id) {
				return []string{id}
			}
		}
		return nil
	}
	var list []struct {
		ID    string
		Names []string
	}
	if json.Unmarshal(text, &list) == nil {
		for _, c := range list {
			if slices.Contains(c.Names, name) && isHex(c.ID) {
				ids = append(ids, c.ID)
			}
		}
	}
	return ids
}
