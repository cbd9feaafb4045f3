// Package render turns a developer's instance into a ResourceGraph: it loads a
// platform's CUE module, checks the instance against the module's #Input,
// evaluates #Render, and reads nodes, outputs and violations from the result.
//
// An instance passes through these stages:
//
//   - [Instances] reads it from YAML (instance.go);
//   - [Load] reads a module and [NewPlatform] names its kind (load.go, module.go,
//     platform.go, versions.go);
//   - [Renderer.Render] checks the input (input.go, conversion.go) and turns the
//     output into a graph (decode.go, node.go, output.go, graph.go), which
//     policies see before it is sealed (policy.go, seal.go); [Instance.In] has it take
//     the values of a cluster (fill.go);
//   - [Renderer.Locate] finds the lines of a module that set fields (locate.go);
//   - [Each] renders many instances in parallel, each bounded in time and memory
//     (pool.go, watchdog.go).
//
// Rendering is a pure function of the module's files and the instance's bytes.
// It depends on no environment, clock, network or cluster. The package does
// not know where modules come from, since it takes an [fs.FS], and prints
// nothing: mistakes are returned as a [problem.List], each at the line where
// its reader can correct it. Package diagnose finds the mistakes in an
// instance.
package render
