import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/**
 * Runs a Neo4j server: java -cp 'lib/*' Launch HOME [linked | once] (reads HOME/conf/neo4j.conf).
 *
 * Linked, it ends with its standard input, that is with whoever started it, however that one died. Once, it ends when it
 * has started and answered.
 */
public class Launch {
    public static void main(String[] args) throws InterruptedException, IOException {
        Path home = Path.of(args[0]);
        DatabaseManagementService server = new DatabaseManagementServiceBuilder(home)
                .loadPropertiesFromFile(home.resolve("conf/neo4j.conf"))
                .build();
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        String until = args.length > 1 ? args[1] : "";
        if (until.equals("once")) {
            server.database("neo4j").executeTransactionally("MERGE (a:A {b: 1}) RETURN a ORDER BY a.b LIMIT 1");
            System.exit(0);
        }
        if (until.equals("linked")) {
            System.in.transferTo(OutputStream.nullOutputStream());
            System.exit(0);
        }
        Thread.currentThread().join();
    }
}
