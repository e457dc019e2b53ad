// The packages are in the folder itself, whatever lock files lie above it.
export default { turbopack: { root: import.meta.dirname } };
