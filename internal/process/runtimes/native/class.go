package native

import (
	"slices"

	"trocar/internal/binary/image"
	"trocar/internal/binary/types"
)

// Class is the class of C++ that has a virtual table at an address. What is not known of it but the name has no kind.
func Class(im *image.Image, addr uint64) (*types.Type, bool) {
	name, ok := im.File().ClassAt(addr)
	if !ok {
		return nil, false
	}
	unknown := &types.Type{Name: name}
	info, err := im.Info()
	if err != nil {
		return unknown, true
	}
	t, err := info.TypeNamed(name, nil)
	if err != nil {
		return unknown, true
	}
	t = t.Complete()
	if t.Kind != types.Struct || t.Incomplete || t.Lang() != types.CPlusPlus {
		return unknown, true
	}
	// Classes of unnamed namespaces may be different ones of one name.
	all, err := info.TypesNamed(t.Name)
	differs := func(other *types.Type) bool {
		other = other.Complete()
		return !other.Incomplete && types.Identity(other) != types.Identity(t)
	}
	if err != nil || slices.ContainsFunc(all, differs) {
		return unknown, true
	}
	return t, true
}
