package builtin

import "trocar/internal/binary/types"

var mapOps = []Func{
	{
		ID: Delete, Names: []string{"delete"}, Min: 1, Max: 2, Group: GroupMapOps, MapArg: true, Result: types.TBool,
		Variants: []string{"bool delete(map m, key k)", "bool delete(map m)", "bool delete(m[k])"},
		Doc: `Removes an entry; several keys are a tuple: delete(@m, (1, "a")). A map without keys is removed as a whole. The value
tells whether there was such an entry. The last form is an older spelling of the first.`,
	},
	{
		ID: HasKey, Names: []string{"has_key"}, Min: 2, Max: 2, Group: GroupMapOps, MapArg: true, Result: types.TBool,
		Variants: []string{"bool has_key(map m, key k)"},
		Doc:      `Whether the map has an entry for the key. (Reading a missing entry gives 0, or an empty string.)`,
	},
	{
		ID: Find, Names: []string{"find"}, Min: 3, Max: 3, Group: GroupMapOps, MapArg: true, Result: types.TBool,
		Variants: []string{"bool find(map m, key k, variable $v)"},
		Doc: `If the map has an entry for the key, sets the variable to its value and is true; else leaves the variable alone and is false.
One look-up instead of the two of has_key and @m[k].`,
	},
	{
		ID: Len, Names: []string{"len"}, Min: 1, Max: 1, Group: GroupMapOps, MapArg: true, Result: types.TInt64,
		Variants: []string{
			"int64 len(map m)", "int64 len(ustack_t stack)", "int64 len(kstack_t stack)",
			"int64 len(T value)",
		},
		Doc: `The number of entries of a map with keys, of frames of a stack, or of elements of a list or string of the traced program
(std::string, std::vector …, Go's strings and slices, Rust's String, &str, Vec …). v.size(), v.length() and v.len() mean the same.`,
	},
	{
		ID: Clear, Names: []string{"clear"}, Min: 1, Max: 1, Group: GroupMapOps, Async: true, MapArg: true,
		Result:   types.TNone,
		Variants: []string{"void clear(map m)"},
		Doc: `Removes all entries. In an end probe this keeps the map from being printed. Right behind print of the same map, what is
printed is what is removed; only what a probe counts in that very moment may be in neither.`,
	},
	{
		ID: Zero, Names: []string{"zero"}, Min: 1, Max: 1, Group: GroupMapOps, Async: true, MapArg: true, Result: types.TNone,
		Variants: []string{"void zero(map m)"},
		Doc:      `Sets all values to zero and keeps the keys.`,
	},
	{
		ID: IsScalar, Names: []string{"is_scalar"}, Min: 1, Max: 1, Group: GroupMapOps, MapArg: true, Result: types.TBool,
		CompileTime: true,
		Variants:    []string{"bool is_scalar(map m)"},
		Doc:         `Whether the map is used without keys.`,
	},
}
