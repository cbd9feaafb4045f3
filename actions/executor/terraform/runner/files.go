package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// The files that are written beside those of the configuration. OpenTofu merges files with names
// that end in _override.tf.json into it.
const (
	backendFile = "pequod_override.tf.json"
	varsFile    = "pequod.tfvars.json"
	planFile    = "pequod.tfplan"
)

// write writes the files of a configuration, and those that set the backend and the variables.
func (r *runner) write(in Input) error {
	files := map[string][]byte{}
	for name, text := range in.Files {
		if !filepath.IsLocal(name) {
			return &failure{message: fmt.Sprintf("the name of the file %q leads out of the directory", name), permanent: true}
		}
		files[name] = []byte(text)
	}
	backend, err := json.Marshal(map[string]any{"terraform": map[string]any{"backend": map[string]any{
		"kubernetes": map[string]any{"secret_suffix": r.suffix, "namespace": r.namespace},
	}}})
	if err != nil {
		return err
	}
	files[backendFile], files[varsFile] = backend, []byte("{}")
	if len(in.Vars) > 0 {
		files[varsFile] = in.Vars
	}
	for name, data := range files {
		file := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// environment returns the environment of tofu. It finds the API server as this program does.
func (r *runner) environment() []string {
	env := append(os.Environ(), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1", "HOME="+r.dir)
	if r.inCluster {
		return append(env, "KUBE_IN_CLUSTER_CONFIG=true")
	}
	return append(env, "KUBE_CONFIG_PATH="+os.Getenv("KUBECONFIG"))
}
