// Package render turns a developer's short instance into a ResourceGraph: it
// loads a platform's CUE module, checks the instance against the module's
// #Input, evaluates its #Render and reads nodes, outputs and violations from
// the result.
//
// The way of one instance is [Instances] (YAML to syntax with positions),
// [Load] and [NewPlatform] (module to platform), [Renderer.Render] (both to a
// graph), and [Each] for many of them in parallel, each bounded in time and
// memory.
//
// Rendering is a pure function of the module's files and the instance's bytes:
// no environment, clock, network or cluster. The package doesn't know where
// modules come from (it takes an fs.FS) and prints nothing: what is wrong comes
// back as a list of [Problem], each with the place that its reader can mend.
package render
