package flame

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// page is the viewer: it asks nothing of the network.
//
//go:embed page.html
var page string

// box is a node as the page reads it.
type box struct {
	Name     string `json:"n"`
	Detail   string `json:"d,omitempty"`
	Total    uint64 `json:"t"`
	Self     uint64 `json:"s,omitempty"`
	Before   uint64 `json:"b,omitempty"` // the total of the earlier profile
	Color    string `json:"c"`
	Children []*box `json:"k,omitempty"`
}

func (n *node) box(color func(*node) string) *box {
	b := &box{Name: n.name, Detail: n.detail, Total: n.total, Self: n.self, Before: n.before, Color: color(n)}
	for _, c := range n.children {
		b.Children = append(b.Children, c.box(color))
	}
	return b
}

// html is a page with a flame graph to zoom and search. The data are JSON in which <, > and & are escaped, so that no
// name ends the script.
func (p *Profile) html() ([]byte, error) {
	root := p.tree()
	data, err := json.Marshal(root.box(p.colors(root)))
	if err != nil {
		return nil, fmt.Errorf("flame graph: %w", err)
	}
	unit, err := json.Marshal(p.Unit)
	if err != nil {
		return nil, fmt.Errorf("flame graph: %w", err)
	}
	r := strings.NewReplacer("{{title}}", escaped(p.Title), "{{unit}}", string(unit), "{{data}}", string(data),
		"{{diff}}", strconv.FormatBool(p.Base != nil))
	return []byte(r.Replace(page)), nil
}
