import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/**
 * Runs a Neo4j server: java -cp 'lib/*' Launch.java HOME [linked] (reads HOME/conf/neo4j.conf).
 *
 * Linked, it ends with its standard input, that is with whoever started it, however that one died.
 */
public class Launch {
    public static void main(String[] args) throws InterruptedException, IOException {
        Path home = Path.of(args[0]);
        DatabaseManagementService server = new DatabaseManagementServiceBuilder(home)
                .loadPropertiesFromFile(home.resolve("conf/neo4j.conf"))
                .build();
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
        if (args.length > 1 && args[1].equals("linked")) {
            System.in.transferTo(OutputStream.nullOutputStream());
            System.exit(0);
        }
        Thread.currentThread().join();
    }
}
