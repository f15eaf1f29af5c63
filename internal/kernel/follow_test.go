package kernel

import "testing"

func TestChildField(t *testing.T) {
	for _, c := range []struct {
		name, format string
		at           int16
		fails        bool
	}{
		{
			"6.1", "name: sched_process_fork\nID: 318\nformat:\n\tfield:unsigned short " +
				"common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\tfield:char " +
				"parent_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\tfield:pid_t " +
				"parent_pid;\toffset:24;\tsize:4;\tsigned:1;\n\tfield:char " +
				"child_comm[16];\toffset:28;\tsize:16;\tsigned:0;\n\tfield:pid_t child_pid;\toffset:44;\tsize:4;\tsigned:1;\n",
			44, false,
		},
		{
			"6.17", "\tfield:__data_loc char[] parent_comm;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:pid_t " +
				"parent_pid;\toffset:12;\tsize:4;\tsigned:1;\n\tfield:__data_loc char[] " +
				"child_comm;\toffset:16;\tsize:4;\tsigned:0;\n\tfield:pid_t child_pid;\toffset:20;\tsize:4;\tsigned:1;\n", 20,
			false,
		},
		{"other width", "\tfield:pid_t child_pid;\toffset:20;\tsize:8;\tsigned:1;\n", 0, true},
		{"too far", "\tfield:pid_t child_pid;\toffset:99999;\tsize:4;\tsigned:1;\n", 0, true},
		{"empty", "", 0, true},
	} {
		at, err := parseChildField(c.format)
		if (err != nil) != c.fails || !c.fails && at != c.at {
			t.Errorf("%s: %d, %v", c.name, at, err)
		}
	}
}
