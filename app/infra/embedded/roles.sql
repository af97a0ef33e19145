-- The roles and databases of Cairn, for a server of your own. As an administrator (superuser, or CREATEROLE and CREATEDB):
--
--     psql -v ON_ERROR_STOP=1 -d postgres -f roles.sql
--
-- It may be run again at any time, and gives nobody a password: set them with \password cairn_app, and so on.
-- `cairn up` runs this same file in its own server, paragraph by paragraph: no blank line within a statement.

-- cairn_owner   owns the database and runs the migrations        CAIRN_DATABASE_OWNER_URL
-- cairn_app     serves: row-level security binds it              CAIRN_DATABASE_URL
-- cairn_log     adds rows to the audit log and does nothing else CAIRN_DATABASE_LOG_URL
-- cairn_queue   works the job queue, in a schema of its own      CAIRN_QUEUE_URL
-- cairn_keys    owns the key store, a database of its own        CAIRN_KEYS_URL
-- cairn_commit  owns the functions that write for many users; nobody logs in as it
SELECT format('CREATE ROLE %I %s NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS', name, login)
FROM (VALUES ('cairn_owner', 'LOGIN'), ('cairn_app', 'LOGIN'), ('cairn_log', 'LOGIN'), ('cairn_queue', 'LOGIN'),
             ('cairn_keys', 'LOGIN'), ('cairn_commit', 'NOLOGIN')) AS wanted (name, login)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name)
\gexec

-- A role that was there before under one of these names may be more than it should be.
DO $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_roles
        WHERE rolname IN ('cairn_owner', 'cairn_app', 'cairn_log', 'cairn_queue', 'cairn_keys', 'cairn_commit')
          AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolreplication OR (rolcanlogin AND rolname = 'cairn_commit'))
    ) THEN
        RAISE EXCEPTION 'a role of Cairn is a superuser, bypasses row-level security, or may do more than it should';
    END IF;
END
$$;

GRANT cairn_commit TO cairn_owner;

-- Who isn't a superuser must be a member of a role to make it an owner.
SELECT format('GRANT %I TO CURRENT_USER', name)
FROM (VALUES ('cairn_owner'), ('cairn_keys')) AS wanted (name)
WHERE NOT pg_has_role(current_user, name, 'USAGE')
\gexec

-- A role's setting, not a database's: it holds in databases made from a template too.
ALTER ROLE cairn_queue SET search_path = queue;

SELECT format('CREATE DATABASE %I OWNER %I ENCODING ''UTF8'' TEMPLATE template0', name, owner)
FROM (VALUES ('cairn', 'cairn_owner'), ('cairn_keys', 'cairn_keys')) AS wanted (name, owner)
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = name)
\gexec

REVOKE ALL ON DATABASE cairn, cairn_keys FROM PUBLIC;

GRANT CONNECT ON DATABASE cairn TO cairn_app, cairn_log, cairn_queue;

\connect cairn

REVOKE ALL ON SCHEMA public FROM PUBLIC;

GRANT USAGE ON SCHEMA public TO cairn_app, cairn_log;

-- CREATE, since a function can be given only to a role that could have made it there.
GRANT USAGE, CREATE ON SCHEMA public TO cairn_commit;

CREATE SCHEMA IF NOT EXISTS queue AUTHORIZATION cairn_owner;

GRANT USAGE ON SCHEMA queue TO cairn_queue, cairn_commit;

\connect cairn_keys

REVOKE ALL ON SCHEMA public FROM PUBLIC;
