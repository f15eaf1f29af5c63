package trocar

import (
	"fmt"

	"trocar/internal/compile/codegen"
	"trocar/internal/kernel"
)

// kernelFeatures answers code generation from the running kernel.
type kernelFeatures struct{ *kernel.Features }

func (k kernelFeatures) Has(f codegen.Feature) bool {
	switch f {
	case codegen.Cookie:
		return k.Features.Has(kernel.AttachCookie)
	case codegen.Sleepable:
		return k.Features.Has(kernel.SleepableUprobe)
	case codegen.AtomicFetch:
		return k.Features.Has(kernel.AtomicFetch)
	case codegen.Loop:
		return k.Features.Has(kernel.Loop)
	case codegen.ForEach:
		return k.Features.Has(kernel.ForEachMapElem)
	case codegen.PerCPULookup:
		return k.Features.Has(kernel.MapLookupPercpu)
	case codegen.KtimeTAI:
		return k.Features.Has(kernel.KtimeTAI)
	}
	return false
}

// disable makes features look absent.
func (p *Program) disable(names []string) error {
	for _, name := range names {
		found := false
		for _, f := range kernel.AllFeatures() {
			if f.Info().Name == name {
				p.features.Disable(f)
				found = true
			}
		}
		if !found {
			return fmt.Errorf("no kernel feature is called %q (see trocar doctor)", name)
		}
	}
	return nil
}
