package runner

import (
	"context"
	"os"
	"slices"
)

// undeclared is the warning of OpenTofu about a value of a variable that isn't declared.
const undeclared = "Value for undeclared variable"

// variableErrors are the summaries of errors that only other values of variables can fix.
var variableErrors = []string{"No value for required variable", "Invalid value for input variable"}

// run executes the steps of the mode, and returns a summary.
func (r *runner) run(ctx context.Context) (string, error) {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return "", err
	}
	in, err := r.take(ctx)
	if err != nil {
		return "", err
	}
	if err := r.write(in); err != nil {
		return "", err
	}
	r.env = r.environment()
	if err := r.claim(ctx); err != nil {
		return "", err
	}
	if err := r.initialize(ctx); err != nil {
		return "", err
	}
	result, err := r.work(ctx)
	if err != nil {
		return "", err
	}
	if r.mode == Destroy {
		return result.Summary, r.forget(ctx)
	}
	return result.Summary, r.put(ctx, result)
}

// initialize runs tofu init and tofu validate.
func (r *runner) initialize(ctx context.Context) error {
	code, found, err := r.program.run(ctx, "init", "-json", "-input=false", "-var-file="+varsFile)
	if err != nil {
		return err
	}
	invalid, err := r.validate(ctx)
	if err != nil {
		return err
	}
	if code == 0 {
		if len(invalid) > 0 {
			return r.failed("validate", invalid, true)
		}
		return nil
	}
	found = errorsOf(found)
	// An error of the configuration remains. One of a registry, or of the API server, may not.
	permanent := len(found) > 0 && slices.ContainsFunc(invalid, found[0].same)
	return r.failed("init", found, permanent)
}

// validate returns the errors of the configuration.
func (r *runner) validate(ctx context.Context) ([]diagnostic, error) {
	var answer struct {
		Diagnostics []diagnostic `json:"diagnostics"`
	}
	err := r.read(ctx, &answer, "validate", "-json", "-var-file="+varsFile)
	return errorsOf(answer.Diagnostics), err
}

// work makes a plan, and applies it unless it waits for approval or is only a check.
func (r *runner) work(ctx context.Context) (Result, error) {
	if r.plan != "" {
		approved, err := r.fetch(ctx)
		if err != nil {
			return approved, err
		}
		return r.apply(ctx, approved)
	}
	changed, err := r.makePlan(ctx)
	if err != nil {
		return Result{}, err
	}
	result, err := r.changes(ctx, planFile)
	if err != nil {
		return result, err
	}
	switch {
	case r.mode == Check:
		return result, nil
	case !changed && r.mode == Destroy:
		return result, nil
	case !changed:
		return result, r.outputs(ctx, &result)
	case r.mode == Plan:
		result.Digest, err = r.digestOf()
		return result, err
	}
	return r.apply(ctx, result)
}

// makePlan makes a plan, and reports whether it has changes.
func (r *runner) makePlan(ctx context.Context) (changed bool, err error) {
	args := []string{"plan", "-json", "-input=false", "-detailed-exitcode", "-lock-timeout=" + r.lockTimeout.String(), "-var-file=" + varsFile, "-out=" + planFile}
	if r.mode == Destroy {
		args = append(args, "-destroy")
	}
	code, found, err := r.program.run(ctx, args...)
	if err != nil {
		return false, err
	}
	if code != 0 && code != 2 {
		found = errorsOf(found)
		permanent := len(r.hidden) == 0 && len(found) > 0 && slices.Contains(variableErrors, found[0].Summary)
		return false, r.failed("plan", found, permanent)
	}
	for _, d := range found {
		if d.Summary == undeclared && r.mode != Destroy {
			return false, r.failed("plan", []diagnostic{d}, true)
		}
	}
	return code == 2, nil
}

// apply applies a plan whose result is given, and reads the outputs.
func (r *runner) apply(ctx context.Context, result Result) (Result, error) {
	code, found, err := r.program.run(ctx, "apply", "-json", "-input=false", "-lock-timeout="+r.lockTimeout.String(), "-var-file="+varsFile, planFile)
	switch {
	case err != nil:
		return result, err
	case code != 0:
		return result, r.failed("apply", errorsOf(found), false)
	case r.mode == Destroy:
		return result, nil
	}
	return result, r.outputs(ctx, &result)
}
