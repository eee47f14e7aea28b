// The page: which view is shown, in which group, and who calls.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call, Refused, setToken } from "./api";
import { type Graph, graphOf } from "./graph";
import { Failure } from "./parts";
import { type Route, to, useRoute } from "./route";
import { Around } from "./views/around";
import { Communities } from "./views/communities";
import { DocumentView } from "./views/document";
import { Documents } from "./views/documents";
import { Entities, EntityView } from "./views/entity";
import { Episodes, EpisodeView } from "./views/episode";
import { Groups } from "./views/groups";
import { Live } from "./views/live";
import { Overview } from "./views/overview";
import { Search } from "./views/search";

const TABS: [string, string][] = [
  ["overview", "Overview"],
  ["search", "Search"],
  ["entities", "Entities"],
  ["graph", "Graph"],
  ["episodes", "Episodes"],
  ["documents", "Documents"],
  ["communities", "Communities"],
  ["live", "Live"],
];
const WITHIN: Record<string, string> = { entity: "entities", episode: "episodes", document: "documents" };

function View({ graph, route }: { graph: Graph; route: Route }) {
  switch (route.view) {
    case "search":
      return <Search graph={graph} asked={route.asked} />;
    case "entities":
      return <Entities graph={graph} />;
    case "entity":
      return <EntityView key={route.thing} graph={graph} uuid={route.thing} />;
    case "graph":
      return <Around key={route.thing} graph={graph} uuid={route.thing} />;
    case "episodes":
      return <Episodes graph={graph} />;
    case "episode":
      return <EpisodeView graph={graph} uuid={route.thing} />;
    case "documents":
      return <Documents graph={graph} />;
    case "document":
      return <DocumentView key={route.thing} graph={graph} documentId={route.thing} compare={route.asked.get("show") === "revisions"} />;
    case "communities":
      return <Communities graph={graph} />;
    case "live":
      return <Live graph={graph} />;
    default:
      return <Overview graph={graph} />;
  }
}

function Group({ route }: { route: Route }) {
  const graph = graphOf(route.group);
  const [, setRound] = useState(0);
  useEffect(() => graph.subscribe(() => setRound((before) => before + 1)), [graph]);
  const open = WITHIN[route.view] ?? route.view;
  return (
    <>
      <nav aria-label="Views" class="tabs">
        {TABS.map(([view, title]) => (
          <a key={view} href={to(route.group, view)} aria-current={view === open ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <main id="main" tabIndex={-1}>
        <Failure error={graph.failure} />
        <View graph={graph} route={route} />
      </main>
    </>
  );
}

/** Whether the service knows who calls; otherwise asks for a token. */
function Gate({ children }: { children: preact.ComponentChildren }) {
  const [state, setState] = useState<"asking" | "open" | "closed" | Error>("asking");
  const ask = () =>
    call("/kgsvc.v1.AdminService/Healthcheck", {}).then(
      () => setState("open"),
      (error: Error) => setState(error instanceof Refused && error.code === "unauthenticated" ? "closed" : error),
    );
  useEffect(() => void ask(), []);
  if (state === "open") return <>{children}</>;
  if (state === "asking") return null;
  return (
    <main id="main" class="gate">
      {state instanceof Error ? (
        <Failure error={state} />
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            setToken(String(new FormData(event.currentTarget).get("token")));
            void ask();
          }}
        >
          <label>
            Token
            <input name="token" type="password" autocomplete="off" required />
          </label>
          <button type="submit">Go on</button>
          <p class="small">The service wants to know who calls. The token is forgotten when this tab is closed.</p>
        </form>
      )}
    </main>
  );
}

function Page() {
  const route = useRoute();
  useEffect(() => {
    document.title = route.group ? `${route.group} · ${route.view} · kgsvc` : "kgsvc";
  }, [route.group, route.view]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to content
      </a>
      <header>
        <a class="brand" href={to("")}>kgsvc</a>
        {route.group && <span class="where">{route.group}</span>}
      </header>
      <Gate>
        {route.group ? (
          <Group key={route.group} route={route} />
        ) : (
          <main id="main" tabIndex={-1}>
            <Groups />
          </main>
        )}
      </Gate>
    </>
  );
}

render(<Page />, document.getElementById("page")!);
