package instance

const (
	labelOperator  = "pequod.io/managed-by-operator"
	annotationFlux = "reconcile.fluxcd.io/requestedAt"
)
