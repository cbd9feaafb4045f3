package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/internal/source"
)

// approveOptions are the flags of approve.
type approveOptions struct {
	// ConnectionFlags select the cluster and the user.
	kube.ConnectionFlags
	namespace string
	// yes skips the prompt.
	yes bool
}

// newApproveCommand returns the command "action approve".
func newApproveCommand(env command.Env) *cobra.Command {
	o := &approveOptions{}
	cmd := &cobra.Command{
		Use:   "approve NAME",
		Short: "Approve the plan that an Action waits with",
		Long: `Print the plan of an Action that waits for approval, prompt for confirmation, and approve
this plan: the annotation ` + v1alpha1.AnnotationApprovedPlan + ` gets its digest. If the plan changes
afterwards, the approval is void, and the Action waits again.

Use --yes to skip the prompt; it is required when stdin is not a terminal.

The exit code is 0 if the plan is approved; 1 if the Action waits for no approval; 2 if the
cluster could not be reached, there is no such Action, or the prompt was answered with no.`,
		Example: `  pequod action approve production-pg -n shop`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0]) },
	}
	o.ConnectionFlags.AddFlags(cmd)
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "default", "namespace of the Action")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "skip the confirmation prompt")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

// run approves the plan of an Action.
func (o *approveOptions) run(ctx context.Context, env command.Env, name string) error {
	if err := kube.CheckNames(o.namespace, nil); err != nil {
		return err
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("%q is not a valid name", name)
	}
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return err
	}
	return kube.Error(o.approve(ctx, env, a.Client.REST(), name))
}

// approve reads the Action, prompts, and annotates it.
func (o *approveOptions) approve(ctx context.Context, env command.Env, client rest.Interface, name string) error {
	path := []string{"/apis", v1alpha1.GroupVersion.Group, v1alpha1.GroupVersion.Version, "namespaces", o.namespace, "actions", name}
	data, err := client.Get().AbsPath(path...).Do(ctx).Raw()
	if err != nil {
		return missing(err, o.namespace, name)
	}
	action := &v1alpha1.Action{}
	if err := json.Unmarshal(data, action); err != nil {
		//lint:ignore ST1005 it begins with a kind
		return fmt.Errorf("Action %s/%s: %w", o.namespace, name, err)
	}
	plan, run := action.Status.Plan, action.Status.Run
	waits := plan != nil && run != nil && run.Approved != plan.Digest && action.Status.ObservedGeneration == action.Generation
	if !waits {
		phase := action.Status.Phase
		if action.Status.ObservedGeneration != action.Generation {
			phase = "not yet observed"
		}
		return command.ExitError{Code: command.ExitNo, Causes: []error{
			//lint:ignore ST1005 it begins with a kind
			fmt.Errorf("Action %s/%s waits for no approval: it is %s", o.namespace, name, phase),
		}}
	}
	// Nobody approves what they can't read.
	if _, err := fmt.Fprintf(env.Out, "plan: %s\n%s\n", source.Escape(plan.Digest, ""), source.Escape(plan.Summary, "\n\t")); err != nil {
		return command.OutputError(err)
	}
	if action.Annotations[v1alpha1.AnnotationApprovedPlan] == plan.Digest {
		fmt.Fprintln(env.Err, "the plan is approved already")
		return nil
	}
	if !o.yes {
		yes, err := command.Confirm(ctx, env, "action approve", "Approve this plan?")
		if err != nil {
			return err
		}
		if !yes {
			return errors.New("nothing was approved")
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{v1alpha1.AnnotationApprovedPlan: plan.Digest},
		"uid":         action.UID, // another Action of the same name is not approved
	}})
	if err != nil {
		return err
	}
	if err := client.Patch(types.MergePatchType).AbsPath(path...).Param("fieldManager", "pequod").Body(patch).Do(ctx).Error(); err != nil {
		return missing(err, o.namespace, name)
	}
	fmt.Fprintf(env.Err, "the plan of Action %s/%s is approved\n", o.namespace, name)
	return nil
}

// missing returns the error that there is no such Action, or err.
func missing(err error, namespace, name string) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("no Action %s in namespace %s; choose another with --namespace, or see 'kubectl get actions -A'", name, namespace)
	}
	return err
}
