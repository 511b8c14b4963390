type Json = Record<string, unknown>;

/**
 * JSON Merge Patch (RFC 7396) on plain objects: null removes a key, arrays are replaced. Paths in `whole`
 * (`telephony.calling_hours`) are replaced as one value too.
 */
export function mergePatch(target: Json, patch: Json, whole: readonly string[] = [], path = ''): Json {
  const merged: Json = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    // Assigning this one would change what the object is, not what it holds.
    if (key === '__proto__') continue;
    const here = path === '' ? key : `${path}.${key}`;
    if (value === null) delete merged[key];
    else if (isObject(value) && !whole.includes(here)) {
      const current = merged[key];
      merged[key] = mergePatch(isObject(current) ? current : {}, value, whole, here);
    } else merged[key] = value;
  }
  return merged;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
