package instance

// Count is count for tests.
var Count = count
