// Where in the page one is, as the address says: #/GROUP/VIEW/THING?question.
import { useEffect, useState } from "preact/hooks";

export interface Route {
  group: string; // empty: the list of groups
  view: string;
  thing: string;
  asked: URLSearchParams;
}

export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [group = "", view = "overview", thing = ""] = path.split("/").map(decoded);
  return { group, view, thing, asked: new URLSearchParams(query) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a view. */
export function to(group: string, view = "", thing = "", asked: Record<string, string> = {}): string {
  const path = [group, view, thing].filter((each) => each !== "").map(encodeURIComponent).join("/");
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== "")).toString();
  return `#/${path}${query && `?${query}`}`;
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return routeOf(hash);
}
