// Package trocar traces user-space programs with scripts in bpftrace's language.
package trocar

import "trocar/internal/kernel"

// KernelFeature is something that only newer kernels, or only some configurations, have.
type KernelFeature struct {
	Name  string
	Since string // the first kernel release that has it
	Has   bool
}

// KernelFeatures asks the running kernel for each feature that trocar makes use of. It asks by trying, which needs the rights
// to trace: without them everything seems to be absent.
func KernelFeatures() []KernelFeature {
	features := kernel.NewFeatures()
	var all []KernelFeature
	for _, f := range kernel.AllFeatures() {
		info := f.Info()
		all = append(all, KernelFeature{Name: info.Name, Since: info.Since, Has: features.Has(f)})
	}
	return all
}
