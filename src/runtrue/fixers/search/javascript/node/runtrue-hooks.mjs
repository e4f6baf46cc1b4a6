// Gives the project's own ES modules an address for each candidate.
let root = '';
let version = null;

export function initialize(data) {
  root = data.root;
  version = data.version;
}

export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  const { url } = found;
  if (!url.startsWith(root) || url.includes('/node_modules/') || url.includes('?')) return found;
  return { ...found, url: `${url}?runtrue=${Atomics.load(version, 0)}` };
}
