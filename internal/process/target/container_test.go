package target

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCgroupContainers(t *testing.T) {
	a, b := strings.Repeat("0123456789abcdef", 4), strings.Repeat("fedcba9876543210", 4)
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"docker, systemd", "0::/system.slice/docker-" + a + ".scope\n", []string{a}},
		{"docker, cgroupfs", "5:memory:/docker/" + a + "\n4:cpu:/docker/" + a + "\n0::/\n", []string{a}},
		{"podman", "0::/machine.slice/libpod-" + a + ".scope/container\n", []string{a}},
		{"kubernetes", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12.slice/cri-containerd-" + a +
			".scope\n", []string{a}},
		{"docker in docker", "0::/system.slice/docker-" + a + ".scope/docker/" + b + "\n", []string{b}},
		{"lxc", "0::/lxc.payload.web/system.slice/ssh.service\n", []string{"web"}},
		{"old lxc", "3:cpu:/lxc/web/init.scope\n", []string{"web"}},
		{"nspawn", "0::/machine.slice/systemd-nspawn@box.service/payload\n", []string{"box"}},
		{"machine", "0::/machine.slice/machine-my\\x2dbox.scope\n", []string{"my-box"}},
		{"none", "0::/user.slice/user-1000.slice/session-2.scope\n12:cpu:/\n", nil},
		{"short", "0::/docker-abc123.scope\n", nil},
		{"damaged", "::\n\n:\n0:/\nx", nil},
	} {
		if got := cgroupContainers(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
	if isContainer(a, "012") || !isContainer(a, "0123") || !isContainer(a, a) || isContainer("web", "we") ||
		!isContainer("web", "web") {
		t.Error("names")
	}
}

func TestContainerNames(t *testing.T) {
	a, b := strings.Repeat("a1", 32), strings.Repeat("b2", 32)
	dir := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("docker/"+a+"/config.v2.json", `{"ID":"`+a+`","Name":"/web","State":{"Pid":7}}`)
	write("docker/bad/config.v2.json", `{"ID":`)
	write("podman/containers.json", `[{"id":"`+b+`","names":["db","data"]},{"id":"x","names":["db"]}]`)
	write("k8s/ns/"+b+"/config.json", `{"annotations":{"io.kubernetes.cri.container-name":"app"}}`)
	patterns := []string{dir + "/docker/*/config.v2.json", dir + "/podman/containers.json", dir + "/k8s/*/*/config.json"}
	for name, want := range map[string][]string{"web": {a}, "data": {b}, "app": {b}, "/web": nil, "": nil, "none": nil} {
		if got := containerIDs(name, patterns); !slices.Equal(got, want) {
			t.Errorf("%q: %q, not %q", name, got, want)
		}
	}
}

func FuzzCgroupContainers(f *testing.F) {
	f.Add("0::/docker-x.scope\n", `{"ID":"a","Name":"/b"}`)
	f.Fuzz(func(t *testing.T, cgroup, file string) {
		for _, id := range cgroupContainers(cgroup) {
			if strings.Contains(id, "/") {
				t.Errorf("%q", id)
			}
		}
		containerNamed([]byte(file), "b", "dir")
	})
}

// TestNamed: a runtime that is used by itself gives the cgroup the container's name.
func TestNamed(t *testing.T) {
	const text = "4:memory:/machine/webshop\n1:cpu:/webshop\n0::/webshop\n"
	for name, want := range map[string]bool{"webshop": true, "shop": false, "machine": false, "machine/webshop": true} {
		if got := named(text, name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
