package flame

import "encoding/json"

// speedscope writes the format of https://www.speedscope.app/file-format-schema.json: each different frame once, and
// each stack as the numbers of its frames, outermost first.
func (p *Profile) speedscope() ([]byte, error) {
	type frame struct {
		Name string `json:"name"`
		File string `json:"file,omitempty"`
		Line int    `json:"line,omitempty"`
	}
	type profile struct {
		Type    string   `json:"type"`
		Name    string   `json:"name"`
		Unit    string   `json:"unit"`
		Start   uint64   `json:"startValue"`
		End     uint64   `json:"endValue"`
		Samples [][]int  `json:"samples"`
		Weights []uint64 `json:"weights"`
	}
	frames, numbers := []frame{}, map[frame]int{}
	number := func(f frame) int {
		n, ok := numbers[f]
		if !ok {
			n = len(frames)
			numbers[f] = n
			frames = append(frames, f)
		}
		return n
	}
	own := profile{Type: "sampled", Name: p.Title, Unit: "none", Samples: [][]int{}, Weights: []uint64{}}
	scale := uint64(1)
	if p.Period > 0 {
		own.Unit, scale = "nanoseconds", uint64(p.Period)
	}
	for i := range p.Samples {
		s := &p.Samples[i]
		var stack []int
		for j, name := range s.names() {
			f := frame{Name: name}
			if k := len(s.Frames) - 1 - (j - len(s.Roots)); j >= len(s.Roots) && k >= 0 {
				f.File, f.Line = s.Frames[k].File, s.Frames[k].Line
			}
			stack = append(stack, number(f))
		}
		own.Samples = append(own.Samples, stack)
		own.Weights = append(own.Weights, s.Count*scale)
		own.End += s.Count * scale
	}
	return json.Marshal(map[string]any{
		"$schema": "https://www.speedscope.app/file-format-schema.json", "name": p.Title, "exporter": "trocar",
		"shared": map[string]any{"frames": frames}, "profiles": []profile{own}, "activeProfileIndex": 0,
	})
}
