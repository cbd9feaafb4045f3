// Package shape has the algebra of shapes: sets of JSON values that a schema admits.
// It is pure data and knows neither CUE nor Kubernetes.
package shape
