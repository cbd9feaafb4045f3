//go:build linux

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// program returns the file of pequod, which the first test builds.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "pequod-mcp-*")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "pequod")
	cmd := exec.Command("go", "build", "-o", file, "../../cmd/pequod")
	cmd.Stderr = os.Stderr
	return file, cmd.Run()
})

func TestMain(m *testing.M) {
	code := m.Run()
	if file, err := program(); err == nil {
		_ = os.RemoveAll(filepath.Dir(file)) // a file in the temporary directory
	}
	os.Exit(code)
}

// workspace is a directory of a user, and secret one beside it. Its module has an
// endless evaluation in ./endless.
func workspace(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const render = "\n#Render: {\n\tinput: {metadata: {name: string, ...}, spec: #Input}\n\toutput: nodes: config: resource: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: input.metadata.name, data: size: input.spec.size}\n}\n"
	for name, text := range map[string]string{
		"work/apps/web.yaml":        "apiVersion: pequod.io/v1alpha1\nkind: WebService\nmetadata: {name: web}\nspec:\n  image: nginx\n  port: 80\n",
		"work/bad.yaml":             "apiVersion: pequod.io/v1alpha1\nkind: WebService\nmetadata: {name: web}\nspec:\n  image: nginx\n  prot: 80\n",
		"work/shop.yaml":            "apiVersion: pequod.io/v1alpha1\nkind: Shop\nmetadata: {name: a}\nspec: {size: large}\n",
		"work/shop/module.cue":      "package shop\n\n#Platform: kind: \"Shop\"\n// A shop.\n#Input: {\n\t// How large it is.\n\tsize: string\n}\n" + render,
		"work/next/module.cue":      "package shop\n\n#Platform: kind: \"Shop\"\n#Input: size: \"small\"\n" + render,
		"work/old.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {k: one}\n",
		"work/new.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {k: two}\n",
		"work/endless/module.cue":   "package shop\n\nimport \"list\"\n\n#Platform: kind: \"Shop\"\n#Input: size: string\n#Render: {\n\tinput: {metadata: {...}, spec: #Input}\n\toutput: nodes: {for i in list.Range(0, 100000000, 1) {\"n\\(i)\": resource: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: \"c\\(i)\"}}}\n}\n",
		"work/outside.yaml":         "apiVersion: platform.pequod.io/v1alpha1\nkind: Transform\nmetadata: {name: shop}\nspec: {cueRef: {type: path, ref: ../secret}}\n",
		"secret/module.cue":         "package shop\n\n#Platform: kind: \"Shop\"\n#Input: size: \"hunter2\"\n" + render,
		"secret/password.yaml":      "apiVersion: v1\nkind: hunter2\nhunter2\n",
		"nested/cue.mod/module.cue": "module: \"example.com/nested@v0\"\nlanguage: version: \"v0.15.0\"\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"work/link.yaml": "../secret/password.yaml", "work/linked": "../secret", "work/apps/link": "../../secret"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(root, "work")
}

// server returns the command of a server for a directory.
func server(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	file, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(file, append([]string{"mcp"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME=", "XDG_CACHE_HOME=", "KUBECONFIG=/nonexistent")
	return cmd
}

// connect starts a server and returns a client of it.
func connect(t *testing.T, dir string, args ...string) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &sdk.CommandTransport{Command: server(t, dir, args...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // a test that fails leaves it open
	return session
}

// answer is the structured content of an answer, with the error of a refused call.
type answer struct {
	OK       bool
	Problems []struct {
		File, Path, Message, Hint string
		Line                      int
	}
	Data           any
	Text, Messages string
	Error          string
}

// ask calls a tool. It may run on any goroutine.
func ask(t *testing.T, s *sdk.ClientSession, tool string, args map[string]any) (a answer) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Errorf("%s: %v", tool, err)
		return a
	}
	if r.IsError {
		a.Error = r.Content[0].(*sdk.TextContent).Text
		return a
	}
	data, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	if err != nil {
		t.Errorf("%s: %v", tool, err)
	}
	return a
}

func TestTools(t *testing.T) {
	s := connect(t, workspace(t))
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		if !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s is not read-only", tool.Name)
		}
	}
	if got, want := strings.Join(names, " "), "diff explain graph impact module_docs render review validate"; got != want {
		t.Errorf("tools %s, want %s", got, want)
	}

	a := ask(t, s, "validate", map[string]any{"files": []string{"bad.yaml"}})
	if a.OK || len(a.Problems) != 1 || a.Problems[0].File != "bad.yaml" || a.Problems[0].Line != 6 || a.Problems[0].Path != "spec.prot" || a.Problems[0].Hint != `did you mean "port"?` {
		t.Errorf("validate: %+v", a)
	}
	if a := ask(t, s, "validate", map[string]any{"files": []string{"apps/web.yaml", "shop.yaml"}, "platforms": []string{"./shop"}}); !a.OK || a.Problems != nil {
		t.Errorf("validate: %+v", a)
	}
	// A command that prints problems for people has them as data, too.
	if a := ask(t, s, "render", map[string]any{"files": []string{"bad.yaml"}}); a.OK || len(a.Problems) != 1 || a.Messages != "" {
		t.Errorf("render: %+v", a)
	}
	for _, test := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"render", map[string]any{"files": []string{"shop.yaml"}, "platforms": []string{"shop"}}, `"kind":"ResourceGraph"`},
		{"render", map[string]any{"files": []string{"shop.yaml"}, "platforms": []string{"shop"}, "format": "resources"}, `"size":"large"`},
		{"graph", map[string]any{"files": []string{"apps/web.yaml"}}, `"nodes":`},
		{"graph", map[string]any{"files": []string{"apps/web.yaml"}, "format": "mermaid"}, `flowchart`},
		{"diff", map[string]any{"old": "old.yaml", "new": "new.yaml"}, `"two"`},
		{"impact", map[string]any{"files": []string{"shop.yaml"}, "platforms": []string{"next"}, "against": []string{"shop"}}, `spec.size`},
		{"module_docs", map[string]any{"module": "./shop"}, `How large it is.`},
		{"explain", map[string]any{"field": "webservice.spec.port"}, `"maximum":65535`},
		{"explain", map[string]any{"field": "shop", "platforms": []string{"shop"}, "recursive": true}, `size\t\u003cstring\u003e`},
	} {
		a := ask(t, s, test.tool, test.args)
		all, err := json.Marshal(map[string]any{"data": a.Data, "text": a.Text})
		if err != nil {
			t.Fatal(err)
		}
		if !a.OK || !strings.Contains(string(all), test.want) {
			t.Errorf("%s %v: want %s in %+v", test.tool, test.args, test.want, a)
		}
	}
	if a := ask(t, s, "explain", map[string]any{"field": "webservice.spec.prot"}); a.OK || !strings.Contains(a.Messages, `did you mean "port"?`) {
		t.Errorf("explain: %+v", a)
	}
	if a := ask(t, s, "diff", map[string]any{"files": []string{"apps/web.yaml"}}); !strings.Contains(a.Error, "--allow-cluster") {
		t.Errorf("diff with a cluster: %+v", a)
	}
	if a := ask(t, s, "module_docs", map[string]any{"module": "oci://127.0.0.1:1/shop:v1"}); a.OK || !strings.Contains(a.Messages, "--offline") {
		t.Errorf("a module of a registry: %+v", a)
	}
}

// TestPaths names files outside of the directory in every way.
func TestPaths(t *testing.T) {
	dir := workspace(t)
	s := connect(t, dir)
	for _, file := range []string{
		"../secret/password.yaml", filepath.Join(filepath.Dir(dir), "secret", "password.yaml"), "link.yaml", "linked/password.yaml", "linked",
		"apps/../../secret/password.yaml", "/etc/passwd", "apps/link/none.yaml", "-", "", "a\x00b",
	} {
		for _, call := range []struct {
			tool string
			args map[string]any
		}{
			{"validate", map[string]any{"files": []string{file}}},
			{"render", map[string]any{"files": []string{"apps/web.yaml"}, "platforms": []string{file}}},
			{"graph", map[string]any{"files": []string{"apps/web.yaml"}, "policies": []string{file}}},
			{"module_docs", map[string]any{"module": file}},
			{"diff", map[string]any{"old": file, "new": "new.yaml"}},
		} {
			if a := ask(t, s, call.tool, call.args); a.Error == "" || strings.Contains(a.Error, "hunter2") {
				t.Errorf("%s %q: %+v", call.tool, file, a)
			}
		}
	}
	// Some references are paths, too, if directories have such names.
	for _, name := range []string{"x:", "embedded:", "git::https:"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"x://../../secret/password.yaml", "embedded:/../../secret/password.yaml", "git::https://../../secret/password.yaml"} {
		for _, call := range []struct {
			tool string
			args map[string]any
		}{
			{"validate", map[string]any{"files": []string{file}}},
			{"render", map[string]any{"files": []string{"apps/web.yaml"}, "platforms": []string{file}}},
			{"diff", map[string]any{"old": file, "new": "new.yaml"}},
		} {
			if a := ask(t, s, call.tool, call.args); !strings.Contains(a.Error, "is not in the directory of the server") {
				t.Errorf("%s %q: %+v", call.tool, file, a)
			}
		}
	}
	for _, value := range []string{"git::file:///etc//x?ref=v1", "git::FILE:///etc//x?ref=v1", "git::/etc", "file:///etc/passwd", "oci-layout:../secret", "oci-layout:/etc", "oci-layout:linked"} {
		if a := ask(t, s, "module_docs", map[string]any{"module": value}); a.Error == "" {
			t.Errorf("%s: %+v", value, a)
		}
	}
	// A value never becomes a flag.
	if a := ask(t, s, "explain", map[string]any{"field": "--help", "recursive": true}); a.OK {
		t.Errorf("a flag: %+v", a)
	}
	// Files in the directory may refer to others. Only the kernel can follow all of them.
	if runtime.GOOS == "linux" {
		a := ask(t, s, "validate", map[string]any{"files": []string{"shop.yaml"}, "platforms": []string{"outside.yaml"}})
		if text, _ := json.Marshal(a); a.OK || strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "permission denied") {
			t.Errorf("a Transform with a module outside: %s", text)
		}
	}
}

// TestTwoAtOnce makes calls at the same time, more than there are processes.
func TestTwoAtOnce(t *testing.T) {
	s := connect(t, workspace(t))
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			if a := ask(t, s, "validate", map[string]any{"files": []string{"apps/web.yaml"}}); !a.OK {
				t.Errorf("%+v", a)
			}
		})
	}
	calls.Wait()
}

// TestTimeLimit ends an evaluation that doesn't end, and answers other calls.
func TestTimeLimit(t *testing.T) {
	s := connect(t, workspace(t), "--timeout", "2s")
	a := ask(t, s, "validate", map[string]any{"files": []string{"shop.yaml"}, "platforms": []string{"endless"}})
	if !strings.Contains(a.Error, "no answer after 2s") {
		t.Errorf("%+v", a)
	}
	if a := ask(t, s, "validate", map[string]any{"files": []string{"bad.yaml"}}); len(a.Problems) != 1 {
		t.Errorf("%+v", a)
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// TestHostileInput sends what no client should. The server ends by itself, or when its input
// ends, and without a trace.
func TestHostileInput(t *testing.T) {
	for name, input := range map[string]string{
		"nothing":           "",
		"garbage":           "\x00\xff garbage\n{}\n[]\n",
		"another protocol":  "GET / HTTP/1.1\r\n\r\n",
		"a huge line":       initialize + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"explain","arguments":{"field":"` + strings.Repeat("a", 64<<20) + `"}}}` + "\n",
		"deep nesting":      initialize + strings.Repeat("[", 500_000) + "\n",
		"unknown tool":      initialize + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"delete","arguments":{}}}` + "\n",
		"wrong arguments":   initialize + `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"validate","arguments":{"files":"a","x":1}}}` + "\n",
		"half of a message": initialize + `{"jsonrpc":"2.0","id":2,`,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			cmd := server(t, workspace(t))
			var out, errs bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
			defer stop()
			err := cmd.Wait()
			if ctx.Err() != nil {
				t.Fatal("the server doesn't end")
			}
			for _, sign := range []string{"panic", "goroutine", "fatal error"} {
				if strings.Contains(errs.String(), sign) {
					t.Errorf("%v\n%s", err, &errs)
				}
			}
			if errs.Len() > 4096 {
				t.Errorf("%d bytes of messages", errs.Len())
			}
			if rss := maxRSS(cmd); rss > 300<<20 {
				t.Errorf("%d MiB of memory", rss>>20)
			}
		})
	}
}

// TestClientGoesAway closes the connection during a call: the server and the process of the
// call end at once.
func TestClientGoesAway(t *testing.T) {
	cmd := server(t, workspace(t))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, initialize+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"validate","arguments":{"files":["shop.yaml"],"platforms":["endless"]}}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	var children []string
	for end := time.Now().Add(20 * time.Second); len(children) == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		children = childrenOf(t, cmd.Process.Pid)
	}
	if len(children) == 0 {
		t.Fatal("the call started no process")
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatal("the server is still there")
	}
	for _, pid := range children {
		if _, err := os.Stat("/proc/" + pid); err == nil {
			t.Errorf("process %s of the call is still there", pid)
		}
	}
}
