package record

import "trocar/internal/binary/types"

// maxWalked is how deep in a value the elements of a container are still looked for.
const maxWalked = 2

// ofWalk is the type in which a container is captured whose elements are in nodes: a list, or the entries of a map.
func (c Capture) ofWalk(t *types.Type, w types.Walk, depth int) *types.Type {
	c.hops = maxHops
	key := c.of(w.Key, depth+1)
	n := innerElems >> c.less
	if w.Item == nil {
		for n > 1 && n*key.Size > maxCapture/4 {
			n /= 2
		}
		return ListOf(key, n)
	}
	value := c.of(w.Item, depth+1)
	for n > 1 && n*(key.Size+value.Size) > maxCapture/4 {
		n /= 2
	}
	return EntriesOf(t, key, value, n)
}
