package flame

import (
	_ "embed"
	"encoding/json"
	"fmt"
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
	Color    string `json:"c"`
	Children []*box `json:"k,omitempty"`
}

func (n *node) box() *box {
	b := &box{Name: n.name, Detail: n.detail, Total: n.total, Self: n.self, Color: n.color()}
	for _, c := range n.children {
		b.Children = append(b.Children, c.box())
	}
	return b
}

// html is a page with a flame graph to zoom and search. The data are JSON in which <, > and & are escaped, so that no
// name ends the script.
func (p *Profile) html() ([]byte, error) {
	data, err := json.Marshal(p.tree().box())
	if err != nil {
		return nil, fmt.Errorf("flame graph: %w", err)
	}
	unit, err := json.Marshal(p.Unit)
	if err != nil {
		return nil, fmt.Errorf("flame graph: %w", err)
	}
	r := strings.NewReplacer("{{title}}", escaped(p.Title), "{{unit}}", string(unit), "{{data}}", string(data))
	return []byte(r.Replace(page)), nil
}
