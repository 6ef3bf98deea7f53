export { default as Sigma } from "sigma";
export { MultiDirectedGraph } from "graphology";
